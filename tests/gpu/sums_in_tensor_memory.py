"""RUN: tilewright compile %s --kernel two_dots --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, M=128, N=256, K=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until schedule-mmas | FileCheck %s
RUN: tilewright compile %s --kernel two_dots --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, M=128, N=256, K=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until overlap-mmas | FileCheck %s --check-prefix=MOVED

A sum of 128x256 would take all registers of four warps. In tensor memory it takes none while the loop carries it. So the second dot is
issued before the wait for the first one.

CHECK: ttg.mma_schedule<
MOVED: scf.for
MOVED: ttg.mma_async %
MOVED-NOT: ttg.mma_async_wait
MOVED: ttg.mma_async %
"""

import triton
import triton.language as tl


@triton.jit
def two_dots(a_ptr, b_ptr, w_ptr, sum_ptr, out_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, k, n = tl.arange(0, M), tl.arange(0, K), tl.arange(0, N)
    w = tl.load(w_ptr + k[:, None] * K + k[None, :])
    sum = tl.zeros((M, N), tl.float32)
    for at in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] * depth + at + k[None, :])
        sum = tl.dot(a, tl.load(b_ptr + (at + k)[:, None] * N + n[None, :]), sum)
        tl.store(out_ptr + m[:, None] * depth + at + k[None, :], tl.exp2(tl.dot(a, w)))
    tl.store(sum_ptr + m[:, None] * N + n[None, :], sum)
