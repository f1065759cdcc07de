# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    a = tl.zeros((16,), tl.float32)
    # CHECK: :[[#@LINE+1]]:9: error: tl.dot takes two tiles of the same number of dimensions, at least 2, not <['16'], fp32> and <['16'], fp32>
    x = tl.dot(a, a)
