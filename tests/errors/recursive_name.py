# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


def f():
    return A


# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: the value of 'A' depends on itself
A = f()


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, A)
