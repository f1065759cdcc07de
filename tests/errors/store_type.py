# RUN: not tilewright compile %s --kernel k --signature '*fp32, *fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr):
    # CHECK: :[[#@LINE+1]]:21: error: cannot store pointer<fp32> where fp32 is expected
    tl.store(x_ptr, y_ptr)
