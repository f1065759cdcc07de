# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: '*' cannot be applied: invalid operands of type pointer<fp32> and the constexpr 2
    x = x_ptr * 2
