"""Matmul with grouped ordering: the same tiles in an order that reuses the cache.

In row-major order of the tiles, all of B passes through the cache before a tile of B is read again. Here programs first go
down columns of GROUP_M tiles. A group reads GROUP_M tiles of A's rows and one tile of B's columns at a time, and reads
both again soon.

    row-major, 3x3 tiles     grouped, GROUP_M = 2
          0 1 2                    0 2 4
          3 4 5                    1 3 5
          6 7 8                    6 7 8

Row and column offsets wrap around (% M, % N), so loads need a mask along K only. The store masks off the results of the
wrapped rows and columns.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def grouped_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles_in_group = GROUP_M * tiles_n
    first_m = pid // tiles_in_group * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)  # the last group may have fewer rows of tiles
    pid_m = first_m + (pid % tiles_in_group) % group_m
    pid_n = (pid % tiles_in_group) // group_m

    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c = acc.to(c_ptr.dtype.element_ty)

    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def matmul(a, b, out=None):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul cannot multiply {a.shape} by {b.shape}: the inner sizes differ")
    (M, K), N = a.shape, b.shape[1]
    out = common.empty((M, N), a) if out is None else out
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    grouped_matmul_kernel[grid](
        a, b, out, M, N, K, *common.strides(a), *common.strides(b), *common.strides(out),
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, GROUP_M=8)
    return out


kernel_fn = matmul


def reference_fn(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def get_inputs(M=512, N=512, K=512, dtype="fp32"):
    return [common.randn(M, K, dtype=dtype, seed=1), common.randn(K, N, dtype=dtype, seed=2)]


def cases(quick):
    for M, N, K in [(1, 1, 1), (300, 130, 70)]:
        yield common.Case(f"{M}x{N}x{K}", "fp32", get_inputs(M, N, K), terms=K)
    size = 256 if quick else 1024
    for dtype in ["fp16", "fp32"]:
        yield common.Case(f"{size}", dtype, get_inputs(size, size, size, dtype), terms=size, flops=2.0 * size**3)


def run(quick=False):
    return common.run("matmul, grouped", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
