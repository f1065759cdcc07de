# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:17: error: tl.exp takes 1 arguments, but 2 are given
    tl.exp(1.0, 2.0)
