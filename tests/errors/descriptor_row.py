# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:58: error: Descriptor block shape must have at least 16 bytes in the last dimension, not 2 of fp32 (8 bytes)
    d = tl.make_tensor_descriptor(x_ptr, [n, n], [n, 1], [16, 2])
