# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel lengths --signature '*fp32, i32' 2>&1 | FileCheck %s --check-prefix=LENGTHS
import triton
import triton.language as tl

def size(n):
    return n


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:9: error: 'size' runs at compile time and cannot take run-time values
    x = size(n)


@triton.jit
def lengths(x_ptr, n):
    # LENGTHS: :[[#@LINE+2]]:9: error: 'len' runs at compile time and cannot take run-time values
    # LENGTHS: help: use x.shape[0] for a tile; pass the size of a tensor as an argument
    n = len(x_ptr)
