# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: dimension 0 of shape (48, 16) is 48, which is no power of two
    x = tl.zeros((48, 16), tl.float32)
