# RUN: not tilewright compile %s --kernel k --signature '*fp32, u32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, u, n):
    # CHECK: :[[#@LINE+1]]:9: error: Cannot use '//' with int32 and uint32 because they have different signedness
    x = n // u
