# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:26: error: <['16'], int32> has fewer than two dimensions, so none can be swapped
    x = tl.arange(0, 16).T
