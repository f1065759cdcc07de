# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    if x_ptr:


# CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: expected an indented block after the if on line [[#@LINE-3]]
# CHECK: help: indent the lines that belong to it, or write 'pass'
N = 1
