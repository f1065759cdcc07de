# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: <['16'], int32> has 16 elements, but the new shape has 32
    x = tl.arange(0, 16).reshape(4, 8)
