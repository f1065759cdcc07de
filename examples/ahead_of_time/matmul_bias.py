"""relu(A @ B + bias), for a program without a compiler: `tilewright build` makes the library that main.c and main.rs launch.

    tilewright build matmul_bias.py \\
      --signature '*fp32:16, *fp32:16, *fp32:16, *fp32:16, i32:16, i32:16, i32:16, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32' \\
      --signature '*fp32, *fp32, *fp32, *fp32, i32, i32, i32, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32' \\
      --target cpu:sse2,cpu:avx2,cpu:avx512 --grid 'cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)' -o libmatmul_bias.a --header matmul_bias.h

The first signature promises that sizes and addresses are multiples of 16. A launch that does not fit it takes the second one.
"""

import triton
import triton.language as tl


@triton.jit
def matmul_bias(a, b, bias, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """c[M, N] = relu(a[M, K] @ b[K, N] + bias[N]); all rows are contiguous."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        y = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(x, y, total)
    total += tl.load(bias + columns, mask=columns < N, other=0.0)[None, :]
    tl.store(c + rows[:, None] * N + columns[None, :], tl.maximum(total, 0.0), mask=(rows[:, None] < M) & (columns[None, :] < N))
