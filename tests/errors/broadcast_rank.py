# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: shape (16,) cannot be broadcast to (4, 16): they have different ranks
    x = tl.broadcast_to(tl.arange(0, 16), (4, 16))
