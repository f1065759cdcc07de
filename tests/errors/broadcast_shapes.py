# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: shapes (16,) and (32,) do not broadcast: dimension 0 is 16 in one and 32 in the other
    x = tl.arange(0, 16) + tl.arange(0, 32)
