# Text that a kernel prints at compile time is not shown as a warning.
# RUN: tilewright compile %s --kernel k --signature '*fp32, 16' --emit tt 2>&1 >/dev/null | FileCheck %s --match-full-lines
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, B: tl.constexpr):
    # CHECK: B is 16
    tl.static_print("B is", B)
