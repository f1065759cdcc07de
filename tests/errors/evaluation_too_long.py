# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.constexpr_function
def forever():
    n = 0
    # CHECK: evaluation_too_long.py:{{[0-9]+}}:{{[0-9]+}}: error: evaluation at compile time takes more than {{[0-9]+}} steps
    while True:
        n = 1
    return n


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, forever())
