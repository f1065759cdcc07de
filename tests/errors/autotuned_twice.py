# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


# CHECK: error: kernel 'k' has two @triton.autotune decorators
# CHECK: help: put all configurations into one list
@triton.autotune(configs=[triton.Config({"A": 8}), triton.Config({"A": 4})], key=[])
@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 4})], key=[])
@triton.jit
def k(x_ptr, A: tl.constexpr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
