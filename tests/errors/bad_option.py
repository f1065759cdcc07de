# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:35: error: '.zz' is not a value of cache_modifier
    tl.load(x_ptr, cache_modifier=".zz")
