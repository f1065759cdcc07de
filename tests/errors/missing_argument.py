# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: kernel 'k' needs a value for its parameter 'n'
# CHECK: help: pass n=...
def k(x_ptr, n):
    pass
