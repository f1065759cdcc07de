# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

WIDTH = tl.constexpr(4)


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:21: error: 'WIDTH' is not defined: this function reads it before it assigns a value to it
    tl.store(x_ptr, WIDTH)
    WIDTH = 5.0
