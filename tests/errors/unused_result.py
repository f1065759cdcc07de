# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.must_use_result("It is a new tile.")
@triton.jit
def doubled(x):
    return x + x


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:5: error: The result of doubled is not being used. It is a new tile.
    doubled(tl.arange(0, 16))
