# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:39: error: <['16'], int32> does not fit the shape of <['1'], pointer<fp32>>
    tl.store(x_ptr + tl.arange(0, 1), tl.arange(0, 16))
