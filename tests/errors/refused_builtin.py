# RUN: not tilewright compile %s --kernel k --signature '*i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:21: error: tl.extra.cuda.smid on a CPU is not supported
    tl.store(x_ptr, tl.extra.cuda.smid())
