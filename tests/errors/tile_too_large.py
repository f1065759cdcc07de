# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: a tile of shape (2048, 1024) has more than 1048576 elements
    x = tl.zeros((2048, 1024), tl.float32)
