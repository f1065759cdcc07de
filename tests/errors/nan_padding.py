# RUN: not tilewright compile %s --kernel k --signature '*i32, i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, n):
    p = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (16,), (0,))
    # CHECK: :[[#@LINE+1]]:56: error: padding_option 'nan' does not apply to int32
    x = tl.load(p, boundary_check=(0,), padding_option="nan")
