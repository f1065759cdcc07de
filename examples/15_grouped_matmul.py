"""Grouped GEMM, as in a mixture of experts: each group of rows is multiplied by its own matrix, in one launch.

The rows of all groups are contiguous, sorted by group. A table holds the group and the first row of each tile of rows. A group
without rows has no tile. So the launch has as many programs as there are tiles.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit
def grouped_gemm_kernel(
    x_ptr, w_ptr, out_ptr, group_ptr, first_ptr, end_ptr, N, K, stride_x, stride_wg, stride_wk, stride_out,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    tile = tl.program_id(0)
    group = tl.load(group_ptr + tile).to(tl.int64)
    rows = tl.load(first_ptr + tile) + tl.arange(0, BLOCK_M)
    inside = rows < tl.load(end_ptr + tile)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    w = w_ptr + group * stride_wg
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        left = k + offs_k < K
        x = tl.load(x_ptr + rows[:, None] * stride_x + (k + offs_k)[None, :], mask=inside[:, None] & left[None, :], other=0)
        b = tl.load(w + (k + offs_k)[:, None] * stride_wk + offs_n[None, :], mask=left[:, None] & (offs_n < N)[None, :], other=0)
        acc = tl.dot(x, b, acc)
    tl.store(out_ptr + rows[:, None] * stride_out + offs_n[None, :], acc.to(out_ptr.dtype.element_ty),
             mask=inside[:, None] & (offs_n < N)[None, :])


def tile_of(sizes):
    """Returns rows, columns and warps of a tile. Large groups take large tiles, which reuse each loaded element more often."""
    filled = [size for size in sizes if size]
    return (128, 256, 8) if filled and sum(filled) >= 96 * len(filled) else (64, 128, 4)


def table_of(sizes):
    """Returns for each tile of rows: its group, its first row, and the end of its group's rows."""
    ends, block = np.cumsum(sizes), tile_of(sizes)[0]
    rows = [(group, first, end) for group, (end, size) in enumerate(zip(ends, sizes)) for first in range(end - size, end, block)]
    return np.array(rows, np.int32).reshape(-1, 3).T.copy()


def grouped_matmul(x, w, sizes, out=None, table=None):
    """x: [rows, K], sorted by group. w: [groups, K, N]. sizes: rows of each group. `table`: table_of(sizes) on the device of x."""
    (rows, K), (groups, depth, N) = x.shape, w.shape
    if depth != K or len(sizes) != groups or sum(sizes) != rows:
        raise ValueError(f"grouped_matmul cannot multiply {x.shape} by {w.shape}: K must agree, and {len(sizes)} sizes cover all rows")
    if not (common.has_plain_rows(x) and common.has_plain_rows(w)):
        raise ValueError("grouped_matmul needs rows with contiguous elements; pass numpy.ascontiguousarray(x)")
    out = common.empty((rows, N), x) if out is None else out
    group, first, end = common.like(table_of(sizes), x) if table is None else table
    if len(group):
        block_m, block_n, warps = tile_of(sizes)
        grouped_gemm_kernel[(len(group), triton.cdiv(N, block_n))](
            x, w, out, group, first, end, N, K, common.strides(x)[0], *common.strides(w)[:2], common.strides(out)[0],
            BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=64, num_warps=warps, num_stages=4)
    return out


kernel_fn = grouped_matmul


def reference_fn(x, w, sizes):
    ends = np.cumsum(sizes)
    parts = [x[end - size : end].astype(np.float64) @ matrix.astype(np.float64) for matrix, end, size in zip(w, ends, sizes)]
    return np.concatenate(parts)


def get_inputs(sizes=(100, 0, 37, 64), N=256, K=256, dtype="fp32"):
    return [common.randn(sum(sizes), K, dtype=dtype), common.randn(len(sizes), K, N, dtype=dtype, seed=1), list(sizes)]


def cases(quick):
    for sizes, N, K, dtype in [((1,), 1, 1, "fp32"), ((5, 0, 130, 64), 70, 100, "fp32"), ((0, 3), 40, 72, "fp16")]:
        yield common.Case(f"{'+'.join(map(str, sizes))} x{N}x{K}", dtype, get_inputs(sizes, N, K, dtype), terms=K)
    sizes, N = ((40, 100), 128) if quick else ((300, 700, 24, 1000), 1024)
    yield common.Case(f"{len(sizes)} groups x{N}x{N}", "fp16", get_inputs(sizes, N, N, "fp16"), terms=N, flops=2.0 * sum(sizes) * N * N)


def run(quick=False):
    return common.run("matmul, grouped", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
