# RUN: not tilewright compile %s --kernel k --signature '*fp16' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:19: error: tl.atomic_max does not support fp16
    tl.atomic_max(x_ptr, 1.0)
