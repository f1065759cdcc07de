# RUN: not tilewright compile %s --kernel k --signature '*fp16' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:16: error: tl.exp takes fp32 or fp64, not fp16
    x = tl.exp(tl.load(x_ptr))
