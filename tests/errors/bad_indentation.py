# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    x = 3
    # CHECK: :[[#@LINE+1]]:7: error: this line is indented more than the one before
      tl.store(x_ptr, x)
    # CHECK: help: align it with the line before
