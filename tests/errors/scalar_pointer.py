# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:29: error: the pointer is a scalar, but 'mask' is <['16'], int1>
    x = tl.load(x_ptr, mask=tl.arange(0, 16) > 3)
