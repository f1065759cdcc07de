# RUN: tilewright compile %s --kernel k --signature '*fp32, 16' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, B: tl.constexpr):
    # CHECK: :[[#@LINE+1]]:5: warning: B is 16
    tl.static_print("B is", B)
