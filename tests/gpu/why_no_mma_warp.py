"""RUN: tilewright explain %S/sums_in_tensor_memory.py --kernel two_dots --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, i32:16, M=128, N=256, K=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 | FileCheck %s
RUN: tilewright explain %s --kernel projected --signature '*fp16:16, *fp16:16, *fp16:16, *i32, *fp32:16, i32:16, AROUND=1' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 | FileCheck %s --check-prefix=NESTED
RUN: tilewright explain %s --kernel projected --signature '*fp16:16, *fp16:16, *fp16:16, *i32, *fp32:16, i32:16, AROUND=0' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 | FileCheck %s --check-prefix=LOADED

Why the MMAs have no warp of their own, neither as loops that only accumulate nor as chains.
CHECK: the first warp of the threads starts each dot: a dot does more than to
CHECK-NEXT: accumulate copied operands in a loop; a dot accumulates, and threads compute nothing for it

Loops of which one contains the other would need columns of their own. The MMA warp runs alone, so it cannot reduce a tile to the bound of a loop.
NESTED: the first warp of the threads starts each dot: a loop with dots is in another one
LOADED: the first warp of the threads starts each dot: one warp alone cannot compute a loop's bounds
"""

import triton
import triton.language as tl


@triton.jit
def projected(q_ptr, k_ptr, w_ptr, n_ptr, o_ptr, keys, AROUND: tl.constexpr):
    m, n = tl.arange(0, 128)[:, None], tl.arange(0, 64)[None, :]
    q, w = tl.load(q_ptr + m * 64 + n), tl.load(w_ptr + tl.arange(0, 64)[:, None] * 64 + n)
    ks = tl.make_tensor_descriptor(k_ptr, [keys, 64], [64, 1], [64, 64])
    total = tl.zeros((128, 64), tl.float32)
    for i in range(0, 2 if AROUND else 1):
        acc = tl.zeros((128, 64), tl.float32)
        for start in range(0, keys, 64):
            k = ks.load([start, 0])
            acc = tl.dot(tl.dot(q, k.T).to(tl.float16), k, acc)
        total = tl.dot(acc.to(tl.float16), w, total * 0.5) if AROUND else acc
    for i in range(0, 0 if AROUND else tl.max(tl.load(n_ptr + tl.arange(0, 32)))):
        total = tl.dot(total.to(tl.float16), w, total * 0.5)
    tl.store(o_ptr + m * 64 + n, total)
