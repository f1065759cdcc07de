# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:26: error: unsupported tensor index: <['16'], int32> can only be indexed with ':' and None
    x = tl.arange(0, 16)[3]
