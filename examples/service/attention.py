"""The kernel of the service: attention forward for one head, with float32 matrices of HEAD_DIM columns and rows of any number.

One program computes BLOCK rows of the result. It passes over the keys once, with a running maximum and a running sum for each row.
"""

import triton
import triton.language as tl


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, n, scale, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr, CAUSAL: tl.constexpr = False):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + columns[None, :], mask=rows[:, None] < n, other=0.0)
    acc = tl.zeros((BLOCK, HEAD_DIM), tl.float32)
    largest = tl.full((BLOCK,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + keys[None, :] * HEAD_DIM + columns[:, None], mask=keys[None, :] < n, other=0.0)
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + columns[None, :], mask=keys[:, None] < n, other=0.0)
        scores = tl.dot(q, k) * scale
        seen = keys[None, :] < n
        if CAUSAL:
            seen = seen & (keys[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp(scores - new[:, None])
        shrink = tl.exp(largest - new)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights, v, acc * shrink[:, None])
        largest = new
    tl.store(out_ptr + rows[:, None] * HEAD_DIM + columns[None, :], acc / total[:, None], mask=rows[:, None] < n)
