# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

@triton.jit
def pick(n):
    # CHECK: :[[#@LINE+1]]:5: error: Return type mismatch: int32 on one path and fp32 on another
    if n > 3:
        return n
    return 1.5


@triton.jit
def k(x_ptr, n):
    pick(n)
