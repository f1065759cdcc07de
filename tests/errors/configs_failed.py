# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"B": 3}), triton.Config({"B": 5})], key=[])
@triton.jit
# CHECK: error: all 2 configurations of kernel 'k' fail; the first error: {{.*}}must be a power of 2
def k(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
