# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: tl.dot of fp16 and fp32: both operands must have the same type
    x = tl.dot(tl.zeros((16, 16), tl.float16), tl.zeros((16, 16), tl.float32))
