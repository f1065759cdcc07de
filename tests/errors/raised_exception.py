# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.constexpr_function
def f():
    # CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: this code raises ValueError("no")
    raise ValueError("no")


@triton.jit
def k(x_ptr):
    tl.static_print(f())
