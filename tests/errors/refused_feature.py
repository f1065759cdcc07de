# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: fp8e4b15 is not supported
    x = tl.arange(0, 16).to(tl.float32).to(tl.float8e4b15)
