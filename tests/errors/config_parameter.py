# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


# CHECK: error: a configuration of kernel 'k' sets 'BLOCK', which is not a parameter of the kernel
# CHECK: help: its parameters are: x_ptr, B
@triton.autotune(configs=[triton.Config({"BLOCK": 8})], key=[])
@triton.jit
def k(x_ptr, B: tl.constexpr):
    pass
