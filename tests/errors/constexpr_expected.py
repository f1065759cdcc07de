# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:18: error: argument 'end' of tl.arange must be known at compile time, but is int32
    tl.arange(0, n)
