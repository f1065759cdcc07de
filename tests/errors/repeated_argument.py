# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: parameter 'x_ptr' of kernel 'k' is given twice
# CHECK: help: pass it by position or by name
def k(x_ptr):
    pass
