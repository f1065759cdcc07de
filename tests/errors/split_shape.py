# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:18: error: tl.split takes a tile whose last dimension has size 2, not <['16'], int32>
    x = tl.split(tl.arange(0, 16))
