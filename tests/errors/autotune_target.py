# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


# CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: @triton.autotune needs a kernel, not the function 'k'
# CHECK: help: write it above @triton.jit
@triton.autotune(configs=[triton.Config({})], key=[])
def k(x_ptr):
    pass
