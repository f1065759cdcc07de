"""Matmul, first version: one program for each tile of C.

C is divided into tiles of BLOCK_M x BLOCK_N. A program steps along K by BLOCK_K, multiplies a tile of A by a tile of B and
adds the result to an fp32 accumulator. Every load and the store have a mask, so the sizes need not be multiples of the
block sizes. Strides are passed for both dimensions: transposed and sliced matrices need no copy.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    pid_m = pid // tiles_n
    pid_n = pid % tiles_n

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < left) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def matmul(a, b, out=None):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul cannot multiply {a.shape} by {b.shape}: the inner sizes differ")
    (M, K), N = a.shape, b.shape[1]
    out = common.empty((M, N), a) if out is None else out
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    matmul_kernel[grid](
        a, b, out, M, N, K, *common.strides(a), *common.strides(b), *common.strides(out), BLOCK_M=128, BLOCK_N=128, BLOCK_K=32)
    return out


kernel_fn = matmul


def reference_fn(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def get_inputs(M=512, N=512, K=512, dtype="fp32"):
    return [common.randn(M, K, dtype=dtype, seed=1), common.randn(K, N, dtype=dtype, seed=2)]


def cases(quick):
    for M, N, K in [(1, 1, 1), (100, 130, 70)]:
        yield common.Case(f"{M}x{N}x{K}", "fp32", get_inputs(M, N, K), terms=K)
    a, b = get_inputs(70, 150, 90)
    yield common.Case("70x150x90 A'B", "fp32", [np.ascontiguousarray(a.T).T, b], terms=90)
    yield common.Case("70x150x90 AB'", "fp32", [a, np.ascontiguousarray(b.T).T], terms=90)
    size = 256 if quick else 1024
    for dtype in ["fp16", "fp32"]:
        yield common.Case(f"{size}", dtype, get_inputs(size, size, size, dtype), terms=size, flops=2.0 * size**3)


def run(quick=False):
    return common.run("matmul, basic", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
