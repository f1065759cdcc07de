"""A producer of copies does not wait with the other warps, so a kernel that may wait for another program's writes is not specialized, even on
request."""
# RUN: tilewright compile %s --kernel product --num-warps 8 --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,*i32,WAIT=False' | FileCheck %s --check-prefix=ROLES
# RUN: tilewright compile %s --kernel product --num-warps 8 --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,*i32,WAIT=True' | FileCheck %s --check-prefix=FLAG
# RUN: tilewright explain %s --kernel product --num-warps 8 --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,*i32,WAIT=True' | FileCheck %s --check-prefix=WHY

import triton
import triton.language as tl


# ROLES: setmaxnreg
# FLAG: atom
# FLAG-NOT: setmaxnreg
# FLAG: cp.async.bulk.tensor
# WHY: the kernel may wait for data that another program writes
@triton.jit
def product(a_ptr, b_ptr, out_ptr, K, flag_ptr, WAIT: tl.constexpr):
    if WAIT:
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass
    a_desc = tl.make_tensor_descriptor(a_ptr, [128, K], [K, 1], [128, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, 128], [128, 1], [64, 128])
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for start in tl.range(0, K, 64, warp_specialize=True):
        acc = tl.dot(a_desc.load([0, start]), b_desc.load([start, 0]), acc)
    tl.store(out_ptr + tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :], acc)
