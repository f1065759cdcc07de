# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    a = tl.zeros((16, 16), tl.bfloat16)
    # CHECK: :[[#@LINE+1]]:22: error: the accumulator of tl.dot is <['16', '16'], bf16>, but the result is <['16', '16'], fp32>
    x = tl.dot(a, a, a)
