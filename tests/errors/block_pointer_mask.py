# RUN: not tilewright compile %s --kernel k --signature '*fp32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (16,), (0,))
    # CHECK: :[[#@LINE+1]]:25: error: 'mask' cannot be used with a block pointer
    x = tl.load(p, mask=n > 3)
