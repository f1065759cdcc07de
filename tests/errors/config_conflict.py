# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] --arg B=8 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 16})], key=[])
@triton.jit
# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: 'B' of kernel 'k' is set by the caller and by the tuner
def k(x_ptr, B: tl.constexpr):
    # CHECK: help: set it in one place only
    pass
