# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+1]]:5: error: kernel 'k' returns the constexpr 3: kernels return nothing
def k(x_ptr):
    return 3
