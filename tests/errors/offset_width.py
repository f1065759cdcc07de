# RUN: not tilewright compile %s --kernel k --signature '*fp32, i64' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    # CHECK: :[[#@LINE+1]]:46: error: block offsets must have 32 bits, not int64
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (n,), (16,), (0,))
