# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] --arg y=1 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: kernel 'k' has no parameter 'y'
# CHECK: help: its parameters are: x_ptr
def k(x_ptr):
    pass
