# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: ']' does not close '(' of line [[#@LINE+2]]
    # CHECK: help: write ')' here, or change '(' to match ']'
    x = (1]
