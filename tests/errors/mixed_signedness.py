# RUN: not tilewright compile %s --kernel k --signature '*fp32, u32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, u, n):
    # CHECK: :[[#@LINE+1]]:9: error: '//' of int32 and uint32: one is signed and the other is not
    x = n // u
