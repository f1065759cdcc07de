# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    if n > 3:
        y = 1.0
    # CHECK: :[[#@LINE+1]]:21: error: 'y' is not defined here: it is assigned only in one arm of the 'if' on line 8
    tl.store(x_ptr, y)
