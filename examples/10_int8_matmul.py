"""Matmul of int8 matrices, accumulated in int32, with one scale for each row and each column.

Sums of products of 8-bit integers are exact in 32 bits, so the int32 output is checked for equality. The fp32 output is
dequantized in the same kernel, while the tile is in registers. Pass None for it to compute only the int32 output.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def int8_matmul_kernel(
    a_ptr, b_ptr, row_scale_ptr, column_scale_ptr, exact_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & (offs_n[None, :] < N), other=0)
        acc = tl.dot(a, b, acc, out_dtype=tl.int32)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    at = offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    inside = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(exact_ptr + at, acc, mask=inside)
    if c_ptr is not None:
        row_scale = tl.load(row_scale_ptr + offs_m, mask=offs_m < M, other=0.0)
        column_scale = tl.load(column_scale_ptr + offs_n, mask=offs_n < N, other=0.0)
        c = acc.to(tl.float32) * row_scale[:, None] * column_scale[None, :]
        tl.store(c_ptr + at, c, mask=inside)


def int8_matmul(a, b, row_scale, column_scale, out=None):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"int8_matmul cannot multiply {a.shape} by {b.shape}: the inner sizes differ")
    if not (common.is_contiguous(row_scale) and common.is_contiguous(column_scale)):
        raise ValueError("int8_matmul needs contiguous scales; pass numpy.ascontiguousarray(scale)")
    (M, K), N = a.shape, b.shape[1]
    out = (common.empty((M, N), a, "int32"), common.empty((M, N), a, "fp32")) if out is None else out
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    int8_matmul_kernel[grid](
        a, b, row_scale, column_scale, *out, M, N, K, *common.strides(a), *common.strides(b), *common.strides(out[0]),
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    return out


kernel_fn = int8_matmul


def reference_fn(a, b, row_scale, column_scale):
    exact = a.astype(np.float64) @ b.astype(np.float64)  # float64 holds these sums exactly, and has a fast product
    return exact.astype(np.int32), exact * row_scale[:, None].astype(np.float64) * column_scale[None, :].astype(np.float64)


def get_inputs(M=512, N=512, K=512):
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (M, K), np.int8), rng.integers(-128, 128, (K, N), np.int8)
    return [a, b, rng.random(M, np.float32) / 100, rng.random(N, np.float32) / 100]


def cases(quick):
    for M, N, K in [(1, 1, 1), (100, 70, 130)]:
        yield common.Case(f"{M}x{N}x{K}", "int8", get_inputs(M, N, K))
    a, b, row_scale, column_scale = get_inputs(70, 150, 90)
    yield common.Case("70x150x90 AB'", "int8", [a, np.ascontiguousarray(b.T).T, row_scale, column_scale])
    size = 256 if quick else 1024
    yield common.Case(f"{size}", "int8", get_inputs(size, size, size), flops=2.0 * size**3)


def run(quick=False):
    return common.run("matmul, int8", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
