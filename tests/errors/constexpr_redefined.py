# RUN: not tilewright compile %s --kernel k --signature '*fp32, 16' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, B: tl.constexpr):
    # CHECK: :[[#@LINE+1]]:5: error: 'B' is already defined; a constexpr cannot be assigned again
    B: tl.constexpr = 3
