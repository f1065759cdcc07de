"""In a cluster, shared-memory addresses have the CTA's rank in their upper bits, for which matrix descriptors have no field: these bits would change
the stride between groups of columns, in all CTAs but the first."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-ctas 2 --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16' | FileCheck %s --check-prefix=CLUSTER
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-ctas 1 --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16' | FileCheck %s --check-prefix=BLOCK

# the mask keeps 14 bits after the shift, but for the lowest six, which are known to be zero
# CLUSTER: shr.u32 [[A:%r[0-9]+]], {{%r[0-9]+}}, 4;
# CLUSTER-NEXT: and.b32 {{%r[0-9]+}}, [[A]], 16320;
# CLUSTER: wgmma.mma_async
# BLOCK-NOT: 16320
# BLOCK: wgmma.mma_async

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, k):
    m, n, d = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 32)
    acc = tl.zeros((256, 128), tl.float32)
    for i in range(0, k, 32):
        acc = tl.dot(tl.load(a + m[:, None] * k + (i + d)[None, :]), tl.load(b + (i + d)[:, None] * 128 + n[None, :]), acc)
    tl.store(c + m[:, None] * 128 + n[None, :], acc.to(tl.float16))
