# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.constexpr_function
def f(n):
    # CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: calls at compile time are nested more than 500 deep
    # CHECK: help: check that the recursion ends
    return f(n + 1)


@triton.jit
def k(x_ptr):
    tl.static_print(f(1))
