# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    a = tl.zeros((16, 16), tl.int32)
    # CHECK: :[[#@LINE+1]]:16: error: tl.dot does not take int32
    x = tl.dot(a, a)
