# RUN: not tilewright compile %s --kernel k --signature '*fp32, 48' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, B: tl.constexpr):
    # CHECK: :[[#@LINE+1]]:9: error: arange's range must be a power of 2
    x = tl.arange(0, B)
