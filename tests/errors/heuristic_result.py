# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.heuristics({"EVEN": lambda args: True})
@triton.jit
# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: the heuristic for 'EVEN' names no parameter of kernel 'k'
def k(x_ptr):
    pass
