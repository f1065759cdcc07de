# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:50: error: the last stride of a tensor descriptor must be the constant 1, not int32
    d = tl.make_tensor_descriptor(x_ptr, [n, n], [1, n], [16, 16])
