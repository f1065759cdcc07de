"""RUN: tilewright compile %s --kernel powers --signature '*fp16:16, *fp16:16, COUNT=600, N=64' --target cuda:sm_90a --num-warps 4 \
RUN:   --until insert-barriers | FileCheck %s

An unrolled loop needs two barriers for each dot but the first. They are inserted one after the other: the analysis continues after each,
and goes no further than to the next.

CHECK-COUNT-1199: ttg.cta_barrier
CHECK-NOT: ttg.cta_barrier
"""

import triton
import triton.language as tl


@triton.jit
def powers(x_ptr, out_ptr, COUNT: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    for _ in tl.static_range(COUNT):
        x = tl.dot(x, x).to(tl.float16)
    tl.store(out_ptr + at, x)
