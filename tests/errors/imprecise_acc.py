# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    a = tl.full((64, 64), 0.0, tl.float8e5)
    # CHECK: :[[#@LINE+1]]:44: error: max_num_imprecise_acc (128) must be <= K (64)
    x = tl.dot(a, a, max_num_imprecise_acc=128)
