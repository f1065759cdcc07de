# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

@triton.jit
def f(a, b):
    return a > b


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:40: error: the combine function 'f' returns int1, but the elements are int32
    x = tl.reduce(tl.arange(0, 16), 0, f)
