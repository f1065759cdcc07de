# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:39: error: 'boundary_check' applies only to block pointers
    x = tl.load(x_ptr, boundary_check=(0,))
