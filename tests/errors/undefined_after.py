# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel other_type --signature '*fp32, i32' 2>&1 | FileCheck %s --check-prefix=TYPE
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    if n > 3:
        y = 1.0
    # CHECK: :[[#@LINE+1]]:21: error: 'y' is not defined here: it is assigned only in one arm of the 'if' on line 9
    tl.store(x_ptr, y)


@triton.jit
def other_type(x_ptr, n):
    i = None
    for _ in range(n):
        # TYPE: :[[#@LINE+1]]:18: error: 'i' is not defined here: it is assigned only as a loop variable of another type, on or below line [[#@LINE-1]]
        before = i
        for i in range(3):
            tl.store(x_ptr + i, 1.0)
