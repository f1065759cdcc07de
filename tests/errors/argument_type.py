# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] --arg n=1.5 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: parameter 'n' is declared as int32 and cannot take a float
# CHECK: help: change the argument, or the annotation
def k(x_ptr, n: tl.int32):
    pass
