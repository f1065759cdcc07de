# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] --arg n=3 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 16})], key=[], reset_to_zero=["n"])
@triton.jit
# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: reset_to_zero names 'n', which is not a tensor of known size in this call of kernel 'k'
def k(x_ptr, n, B: tl.constexpr):
    # CHECK: help: pass a tensor, not a bare pointer
    tl.store(x_ptr + tl.arange(0, B), n, mask=tl.arange(0, B) < 8)
