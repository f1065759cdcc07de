# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

def size(n):
    return n


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:9: error: 'size' runs at compile time and cannot take run-time values
    x = size(n)
