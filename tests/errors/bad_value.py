# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

# CHECK: :[[#@LINE+1]]:5: error: 'foo' is not the text of a number
X = float('foo')


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, X)
