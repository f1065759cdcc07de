# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel pair --signature '*fp32, i32' 2>&1 | FileCheck %s --check-prefix=PAIR
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    acc = 0
    for i in range(n):
        # CHECK: :[[#@LINE+1]]:9: error: loop-carried variable 'acc' is int32 before the loop on line 10 but becomes fp32 in it
        acc += 1.0


@triton.jit
def pair(x_ptr, n):
    both = (n, 1.5)
    for i in range(n):
        # PAIR: :[[#@LINE+1]]:9: error: loop-carried variable 'both' is a tuple of 2 (int32, fp32) before the loop on line 18 but becomes a tuple of 2 (int32, int32) in it
        both = (both[0], i)
