# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:9: error: Ternary expression with dynamic condition has inconsistent types: int32 and fp32
    x = 1 if n > 3 else 2.0
