# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    acc = 0
    for i in range(n):
        # CHECK: :[[#@LINE+1]]:9: error: loop-carried variable 'acc' is int32 before the loop on line 9 but becomes fp32 in it
        acc += 1.0
