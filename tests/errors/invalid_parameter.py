# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: nothing can follow the '**' parameter
def k(x_ptr, **rest, y):
    # CHECK: help: put it last
    pass
