# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: the keyword argument 'mask' is given twice
    tl.load(x_ptr, mask=None, mask=None)
    # CHECK: help: remove one of them
