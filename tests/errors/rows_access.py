# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    rows = tl.make_tensor_descriptor(x_ptr, [64, 64], [64, 1], [1, 32])
    # CHECK: :[[#@LINE+1]]:21: error: tl.tensor_descriptor.gather takes at least 8 rows, not <['4'], int32>
    x = rows.gather(tl.arange(0, 4), 0)
