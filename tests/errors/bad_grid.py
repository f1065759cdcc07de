# RUN: not tilewright run %s --kernel k --grid 1,-1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
# CHECK: error: extent 1 of the grid is -1
# CHECK: help: a grid has one to three extents, each from 0 to 2147483647
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    pass
