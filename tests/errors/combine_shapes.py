# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

@triton.jit
def f(a, b, c, d):
    return a + c, b + d


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:19: error: all tiles that are combined must have the same shape, not <['16'], int32> and <['32'], int32>
    x = tl.reduce((tl.arange(0, 16), tl.arange(0, 32)), 0, f)
