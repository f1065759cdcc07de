# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:27: error: tl.full: argument 'dtype' must be a dtype such as tl.float32, not the constexpr 3
    tl.full((16,), x_ptr, 3)
