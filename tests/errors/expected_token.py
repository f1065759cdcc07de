# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: expected 'else' of the conditional expression
    tl.store(x_ptr, 3 if x_ptr)
