# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:5: error: tl.extra.cuda.convert_custom_float8_sm70 is not supported
    tl.extra.cuda.convert_custom_float8_sm70(x_ptr)
