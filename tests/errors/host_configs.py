# RUN: tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import torch
import triton
import triton.language as tl


# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: warning: num_warps comes from host code that the compiler does not evaluate; the compiler ignores it
@triton.autotune(configs=[triton.Config({"B": 8}, num_warps=torch.warps())], key=[])
# CHECK: help: build it from plain constants
@triton.jit
def k(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
