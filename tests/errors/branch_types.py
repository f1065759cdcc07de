# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    y = 0
    # CHECK: :[[#@LINE+1]]:5: error: Mismatched type for y: fp32 after one arm of this 'if' and int32 after the other
    if n > 3:
        y = 1.0
