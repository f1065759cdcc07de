"""RUN: tilewright explain %s --kernel two_dots --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, M=128, N=256, K=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 | FileCheck %s

Why the MMAs have no warp of their own, neither as loops that only accumulate nor as chains.
CHECK: the first warp of the threads starts each dot: a dot does more than to
CHECK-NEXT: accumulate copied operands in a loop; a dot accumulates, and threads compute nothing for it
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
