# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    for i in range(n):
        # CHECK: :[[#@LINE+1]]:9: error: Cannot have `return` statements inside `while` or `for` statements in triton
        return
