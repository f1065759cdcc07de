# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: an int cannot be iterated over
X = [i for i in 3]


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, X)
