"""More stages than shared memory holds are as many as it holds. With 20 of them, 18 groups of cp.async stay in flight at a wait."""
# RUN: timeout 60 tilewright compile %s --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,S=2000000000,B=64' --emit ptx | FileCheck %s --check-prefix=TMA
# RUN: timeout 60 tilewright compile %s --target cuda:sm_80 --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,S=60000,B=64' --emit ptx | FileCheck %s --check-prefix=FITS
# RUN: tilewright compile %s --target cuda:sm_80 --num-warps 1 --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,S=20,B=16' --emit ptx | FileCheck %s --check-prefix=DEEP
import triton
import triton.language as tl


# TMA-COUNT-14: mbarrier.init
# TMA-NOT: mbarrier.init
# FITS: cp.async.wait_group 8;
# DEEP: cp.async.wait_group 18;
@triton.jit
def deep(a_ptr, b_ptr, o_ptr, K, S: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for j in tl.range(0, K, B, num_stages=S):
        a = tl.load(a_ptr + i[:, None] * K + j + i[None, :])
        b = tl.load(b_ptr + (j + i[:, None]) * B + i[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(o_ptr + i[:, None] * B + i[None, :], acc)
