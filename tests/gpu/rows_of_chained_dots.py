"""Two dots by mma.sync, the second of what is computed from the first, with or without a mask: each warp has whole rows of both. So the
weights stay in registers, and the maximum and the sum of a row take no exchange between warps.

RUN: tilewright explain %s --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, i32, False' --target cuda:sm_80 --num-warps 4 | FileCheck %s
RUN: tilewright explain %s --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, i32, True' --target cuda:sm_120a --num-warps 4 | FileCheck %s
RUN: tilewright explain %s --kernel products --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --target cuda:sm_80 --num-warps 4 | FileCheck %s --check-prefix=ALONE

CHECK: mma.sync
CHECK: mma.sync
CHECK: Reductions
CHECK-NOT: exchange
CHECK-NOT: acc = tl.dot
CHECK: Buffers in shared memory

Without another dot, warps share rows: each reads less of the operands.
ALONE: mma.sync
ALONE: 2 warps exchange
"""

import triton
import triton.language as tl


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, keys, last, MASKED: tl.constexpr):
    m, n, d = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    q = tl.load(q_ptr + m[:, None] * 64 + d[None, :])
    acc = tl.zeros((64, 64), tl.float32)
    highest = tl.full((64,), -float("inf"), tl.float32)
    for start in range(0, keys, 64):
        scores = tl.dot(q, tl.load(k_ptr + (start + n)[None, :] * 64 + d[:, None]))
        if MASKED:
            if start + 64 > last:
                scores = tl.where((start + n)[None, :] < last, scores, -float("inf"))
        new = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        v = tl.load(v_ptr + (start + n)[:, None] * 64 + d[None, :])
        acc = tl.dot(weights.to(tl.float16), v, acc * tl.exp2(highest - new)[:, None])
        highest = new
    tl.store(out_ptr + m[:, None] * 64 + d[None, :], acc / highest[:, None])


@triton.jit
def products(a_ptr, b_ptr, out_ptr, depth):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, depth, 64):
        a = tl.load(a_ptr + m[:, None] * depth + (start + k)[None, :])
        acc = tl.dot(a, tl.load(b_ptr + (start + k)[:, None] * 64 + n[None, :]), acc)
    tl.store(out_ptr + m, tl.max(acc, 1))
