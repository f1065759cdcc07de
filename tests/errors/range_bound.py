# RUN: not tilewright compile %s --kernel k --signature '*fp32, fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:14: error: the bounds and the step of a loop must be integer scalars, not fp32
    for i in range(n):
        pass
