# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: the bits of int32 (32) cannot be read as fp16 (16 bits)
    x = tl.arange(0, 16).to(tl.float16, bitcast=True)
