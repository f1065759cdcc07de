# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: '12ab' is not a number: a letter follows the digits
    # CHECK: help: a name cannot begin with a digit
    x = 12ab
