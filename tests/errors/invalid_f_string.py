# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: an f-string field needs an expression
    tl.static_assert(False, f'{}')
