# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: tl.arange(0, 1099511627776) does not fit into int32
    x = tl.arange(0, 1 << 40)
