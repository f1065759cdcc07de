"""Matmul of a few rows with a large matrix, as in text generation: K is split among programs (split-K).

A result of 16 rows has fewer tiles than a GPU has SMs, and reading B takes most of the time. Several programs share a tile. Each takes a
part of K and stores its partial sums in a workspace. A second kernel adds them in a fixed order, so the result is bitwise reproducible. On a GPU
with clusters, the CTAs of one program take the parts (`num_ctas`). The compiler splits each step of K among them, and they add their
sums through distributed shared memory, without a workspace and a second kernel.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def split_k_kernel(
    a_ptr, b_ptr, sums_ptr, M, N, K, stride_am, stride_bk, stride_bn, PART: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    tile, part = tl.program_id(0), tl.program_id(1)
    tiles_n = tl.cdiv(N, BLOCK_N)
    offs_m = tile // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tile % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    first = part * PART
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(first, min(first + PART, K), BLOCK_K):
        inside = k + offs_k < K
        a = tl.load(a_ptr + offs_m[:, None] * stride_am + (k + offs_k)[None, :], mask=(offs_m < M)[:, None] & inside[None, :], other=0)
        b = tl.load(b_ptr + (k + offs_k)[:, None] * stride_bk + offs_n[None, :] * stride_bn,
                    mask=inside[:, None] & (offs_n < N)[None, :], other=0)
        acc = tl.dot(a, b, acc)
    at = (part * M + offs_m).to(tl.int64)[:, None] * N + offs_n[None, :]
    tl.store(sums_ptr + at, acc.to(sums_ptr.dtype.element_ty), mask=(offs_m < M)[:, None] & (offs_n < N)[None, :])


@triton.jit
def add_parts_kernel(sums_ptr, c_ptr, elements, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in tl.static_range(PARTS):
        total += tl.load(sums_ptr + part * elements + at, mask=at < elements, other=0)
    tl.store(c_ptr + at, total.to(c_ptr.dtype.element_ty), mask=at < elements)


BLOCK_N, BLOCK_K = 128, 64


def rows_of(M):
    return 16 if M <= 16 else 64


def parts_of(M, N, K):
    """Returns the number of parts of K: two programs for each SM of a large GPU, and at least 256 elements of K for each."""
    tiles = max(1, triton.cdiv(M, rows_of(M)) * triton.cdiv(N, BLOCK_N))
    return max(1, min(triton.next_power_of_2(triton.cdiv(256, tiles)), 16, K // 256))


def ctas_of(tiles, K):
    """Returns the CTAs of a program, at most one for each SM of a large GPU. The CTAs of a cluster run in one GPC, so fewer clusters of eight
    run at a time than the number of SMs divided by eight: 16 tiles are faster with four CTAs (H200: 16 us, with eight 21)."""
    ctas = 8 if tiles <= 8 else 4 if tiles <= 16 else 2 if tiles <= 66 else 1
    while ctas > max(1, K // 256):
        ctas //= 2
    return ctas


def split_k_matmul(a, b, out=None, sums=None):
    """a: [M, K] with contiguous rows. b: [K, N], any strides. `sums`: a workspace of [parts, M, N] in fp32; optional."""
    if a.shape[1] != b.shape[0] or not common.has_plain_rows(a):
        raise ValueError(f"split_k_matmul cannot multiply {a.shape} by {b.shape}: inner sizes must agree, and rows of a must be contiguous")
    (M, K), N = a.shape, b.shape[1]
    parts = parts_of(M, N, K)
    part = triton.cdiv(triton.cdiv(K, parts), BLOCK_K) * BLOCK_K
    out = common.empty((M, N), a) if out is None else out
    tiles = triton.cdiv(M, rows_of(M)) * triton.cdiv(N, BLOCK_N)
    ctas = ctas_of(tiles, K)
    if sums is None and common.has_clusters(out):
        split_k_kernel[(tiles, 1)](
            a, b, out, M, N, K, common.strides(a)[0], *common.strides(b), PART=2**30, BLOCK_M=rows_of(M), BLOCK_N=BLOCK_N,
            BLOCK_K=BLOCK_K * ctas, num_warps=4, num_stages=8, num_ctas=ctas)
        return out
    sums = common.empty((parts, M, N), a, "fp32") if sums is None else sums
    split_k_kernel[(tiles, parts)](
        a, b, sums, M, N, K, common.strides(a)[0], *common.strides(b), PART=part, BLOCK_M=rows_of(M), BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K,
        num_warps=4, num_stages=6)
    add_parts_kernel[(triton.cdiv(M * N, 1024),)](sums, out, M * N, PARTS=parts, BLOCK=1024)
    return out


kernel_fn = split_k_matmul


def reference_fn(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


def get_inputs(M=16, N=512, K=2048, dtype="fp32"):
    return [common.randn(M, K, dtype=dtype), common.randn(K, N, dtype=dtype, seed=1)]


def cases(quick):
    for M, N, K, dtype in [(1, 1, 1, "fp32"), (3, 70, 1000, "fp32"), (20, 130, 515, "fp16")]:
        yield common.Case(f"{M}x{N}x{K}", dtype, get_inputs(M, N, K, dtype), terms=K)
    a, b = get_inputs(16, 256, 512)
    yield common.Case("16x256x512 B'", "fp32", [a, np.ascontiguousarray(b.T).T], terms=512)
    N = 256 if quick else 4096
    yield common.Case(f"16x{N}x{N}", "fp16", get_inputs(16, N, N, "fp16"), terms=N, flops=32.0 * N * N)


def run(quick=False):
    return common.run("matmul, split K", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
