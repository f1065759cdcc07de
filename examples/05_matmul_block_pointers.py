"""Matmul with block pointers: shape, strides and position are given once.

A block pointer knows the whole matrix, so a load can check the bounds itself: `boundary_check` lists the dimensions to
check, and elements outside read as zero. `tl.advance` moves the block along K.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def block_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    a_block = tl.make_block_ptr(
        base=a_ptr, shape=(M, K), strides=(stride_am, stride_ak), offsets=(pid_m * BLOCK_M, 0), block_shape=(BLOCK_M, BLOCK_K),
        order=(1, 0))
    b_block = tl.make_block_ptr(
        base=b_ptr, shape=(K, N), strides=(stride_bk, stride_bn), offsets=(0, pid_n * BLOCK_N), block_shape=(BLOCK_K, BLOCK_N),
        order=(1, 0))

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(a, b, acc)
        a_block = tl.advance(a_block, (0, BLOCK_K))
        b_block = tl.advance(b_block, (BLOCK_K, 0))

    c_block = tl.make_block_ptr(
        base=c_ptr, shape=(M, N), strides=(stride_cm, stride_cn), offsets=(pid_m * BLOCK_M, pid_n * BLOCK_N),
        block_shape=(BLOCK_M, BLOCK_N), order=(1, 0))
    tl.store(c_block, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def matmul(a, b, out=None):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul cannot multiply {a.shape} by {b.shape}: the inner sizes differ")
    (M, K), N = a.shape, b.shape[1]
    out = common.empty((M, N), a) if out is None else out
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"]))
    block_matmul_kernel[grid](
        a, b, out, M, N, K, *common.strides(a), *common.strides(b), *common.strides(out), BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    return out


kernel_fn = matmul


def reference_fn(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def get_inputs(M=512, N=512, K=512, dtype="fp32"):
    return [common.randn(M, K, dtype=dtype, seed=1), common.randn(K, N, dtype=dtype, seed=2)]


def cases(quick):
    for M, N, K in [(1, 1, 1), (130, 70, 200)]:
        yield common.Case(f"{M}x{N}x{K}", "fp32", get_inputs(M, N, K), terms=K)
    a, b = get_inputs(70, 150, 90)
    yield common.Case("70x150x90 A'B'", "fp32", [np.ascontiguousarray(a.T).T, np.ascontiguousarray(b.T).T], terms=90)
    size = 256 if quick else 1024
    yield common.Case(f"{size}", "fp32", get_inputs(size, size, size), terms=size, flops=2.0 * size**3)


def run(quick=False):
    return common.run("matmul, block pointers", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
