# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    a = tl.zeros((16, 32), tl.float32)
    # CHECK: :[[#@LINE+1]]:9: error: cannot multiply <['16', '32'], fp32> by <['16', '32'], fp32>: inner sizes or batches differ
    x = tl.dot(a, a)
