# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    a = tl.zeros((16, 16), tl.float16)
    # CHECK: :[[#@LINE+1]]:32: error: tl.dot cannot return bf16
    x = tl.dot(a, a, out_dtype=tl.bfloat16)
