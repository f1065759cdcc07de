# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:42: error: invalid axis 5 for 2 dimensions
    x = tl.expand_dims(tl.arange(0, 16), 5)
