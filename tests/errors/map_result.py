# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def nothing(x):
    pass


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:28: error: the function 'nothing' returns None
    x = tl.map_elementwise(nothing, tl.arange(0, 16))
