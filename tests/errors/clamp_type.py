# RUN: env TILEWRIGHT_TRITON_VERSION=3.6 not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:18: error: tl.clamp takes floats, not <['16'], int32>
    x = tl.clamp(tl.arange(0, 16), 1, 2)
