# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:14: error: the step of a loop cannot be zero
    for i in range(0, n, 0):
        pass
