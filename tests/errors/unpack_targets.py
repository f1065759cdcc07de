# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:5: error: a tuple of 3 cannot be unpacked into 2 names
    a, b = (1, 2, 3)
