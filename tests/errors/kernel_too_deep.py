# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def nested(x_ptr, n, N: tl.constexpr):
    if n > 0:
        if n > 1:
            if n > 2:
                if n > 3:
                    if N > 0:
                        # CHECK: :[[#@LINE+1]]:{{.*}} error: the functions that this kernel calls nest loops and branches more than 400 levels deep
                        nested(x_ptr, n, N - 1)


@triton.jit
def k(x_ptr, n):
    nested(x_ptr, n, 150)
