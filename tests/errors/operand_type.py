# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel pair --signature '*fp32, i32' 2>&1 | FileCheck %s --check-prefix=PAIR
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: '-' cannot be applied to pointer<fp32>
    x = -x_ptr


@triton.jit
def pair(x_ptr, n):
    # PAIR: :[[#@LINE+1]]:9: error: '-' cannot be applied to a tuple of 2
    x = -(n, n)
