# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: cannot shift by -1: a shift count cannot be negative
    tl.static_print(1 << -1)
