"""Products whose left operand is computed in registers, on small integers: every result is exact, so that a single wrong bit shows.

In attention the second product takes the first one's converted result without a detour through memory. Here the scores are integers
of at most HEAD_DIM, which 16-bit floats hold, and all sums stay below 2^24.
"""

import triton
import triton.language as tl


@triton.jit
def chained_matmuls_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + offs_m[:, None] * D + offs_d[None, :], mask=offs_m[:, None] < n, other=0.0)
    acc = tl.zeros((BLOCK_M, D), dtype=tl.float32)
    for start in range(0, n, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + offs_d[:, None] + offs_n[None, :] * D, mask=offs_n[None, :] < n, other=0.0)
        v = tl.load(v_ptr + offs_n[:, None] * D + offs_d[None, :], mask=offs_n[:, None] < n, other=0.0)
        scores = tl.dot(q, k)
        acc = tl.dot(scores.to(v.dtype), v, acc)
    tl.store(out_ptr + offs_m[:, None] * D + offs_d[None, :], acc, mask=offs_m[:, None] < n)


@triton.jit
def converted_matmul_kernel(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot((a * 2).to(b.dtype), b, acc)
    tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))
