# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] --arg B=8 2>&1 | FileCheck %s
import torch
import triton
import triton.language as tl


# CHECK: error: kernel 'k' is marked for tuning but has no configurations
# CHECK: help: give @triton.autotune at least one Config
@triton.autotune(configs=torch.configs(), key=[])
@triton.jit
def k(x_ptr, B: tl.constexpr):
    pass
