# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

@triton.jit
def f(n):
    # CHECK: :[[#@LINE+1]]:5: error: 'f' calls itself: kernels cannot recurse
    f(n)


@triton.jit
def k(x_ptr, n):
    f(n)
