"""Matmul of 8-bit floats with a scale for each row of A and each column of B, as in quantized models.

The numbers are e4m3, which tensor cores multiply directly. B is stored as N x K, the only order that tensor cores support for bytes.
Tensor cores add with fewer bits than fp32 has. So every 128 elements of K, the kernel adds their sums to an fp32 accumulator
(`max_num_imprecise_acc`). Tile widths need not be powers of two (`any_size`), so fewer SMs are idle in the last wave of tiles.
"""

import numpy as np
import triton
import triton.language as tl

import common


@triton.jit(any_size=True)
def fp8_matmul_kernel(
    a_ptr, b_ptr, row_scale_ptr, column_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr, PROMOTION_INTERVAL: tl.constexpr,
):
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    # Persistent loop: while a program stores a tile, the first loads of the next tile are in flight.
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        # Grouped order: tiles that run at the same time share rows of A and B in the cache.
        first_m = tile // (GROUP_M * tiles_n) * GROUP_M
        group_m = min(tiles_m - first_m, GROUP_M)
        offs_m = (first_m + tile % (GROUP_M * tiles_n) % group_m) * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = tile % (GROUP_M * tiles_n) // group_m * BLOCK_N + tl.arange(0, BLOCK_N)
        offs_k = tl.arange(0, BLOCK_K)
        rows, columns = offs_m < M, offs_n < N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            inside = k + offs_k < K
            a = tl.load(a_ptr + offs_m[:, None] * stride_am + (k + offs_k)[None, :], mask=rows[:, None] & inside[None, :], other=0)
            b = tl.load(b_ptr + offs_n[:, None] * stride_bn + (k + offs_k)[None, :], mask=columns[:, None] & inside[None, :], other=0)
            a, b = a.to(tl.float8e4nv, bitcast=True), b.to(tl.float8e4nv, bitcast=True)
            acc = tl.dot(a, b.T, acc, max_num_imprecise_acc=PROMOTION_INTERVAL)
        row_scale = tl.load(row_scale_ptr + offs_m, mask=rows, other=0.0)
        column_scale = tl.load(column_scale_ptr + offs_n, mask=columns, other=0.0)
        c = acc * row_scale[:, None] * column_scale[None, :]
        tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], c.to(c_ptr.dtype.element_ty), mask=rows[:, None] & columns[None, :])


def tile_of(M, N, sms):
    """Returns rows and columns of a tile. Each wave of `sms` tiles takes as long as one tile: its MMAs, and its loads for each step along K.
    A smaller tile must save a tenth of the time."""
    def time(tile):
        rows, columns = tile
        return triton.cdiv(triton.cdiv(M, rows) * triton.cdiv(N, columns), sms) * (rows * columns + 64 * (rows + columns))
    large, fastest = (128, 256), min([(128, 192), (128, 144), (128, 128), (64, 128)], key=time)
    return fastest if time(fastest) < 0.9 * time(large) else large


def fp8_matmul(a, b, row_scale, column_scale, out=None, promotion_interval=128, columns=None):
    """a: e4m3 as bytes, [M, K]. b: the same, [N, K]. Scales: fp32, [M] and [N]. `columns`: columns of a tile; optional."""
    (M, K), N = a.shape, b.shape[0]
    if b.shape[1] != K:
        raise ValueError(f"fp8_matmul cannot multiply {a.shape} by {b.shape}, which has a row for each column of the result: the inner sizes differ")
    if not (common.has_plain_rows(a) and common.has_plain_rows(b) and common.is_contiguous(row_scale) and common.is_contiguous(column_scale)):
        raise ValueError("fp8_matmul needs rows and scales with contiguous elements; pass numpy.ascontiguousarray(x)")
    out = common.empty((M, N), a, "fp32") if out is None else out
    sms = common.num_sms(a)
    rows, columns = (128, columns) if columns else tile_of(M, N, min(sms, 132))
    tiles = triton.cdiv(M, rows) * triton.cdiv(N, columns)
    row = [common.strides(x)[0] for x in (a, b, out)]
    fp8_matmul_kernel[(min(tiles, sms),)](
        a, b, row_scale, column_scale, out, M, N, K, *row, BLOCK_M=rows, BLOCK_N=columns, BLOCK_K=128, GROUP_M=16,
        PROMOTION_INTERVAL=promotion_interval, num_warps=8, num_stages=6 if rows == 64 else 4)
    return out


kernel_fn = fp8_matmul


def e4m3(bits):
    """Sign, four bits of exponent with a bias of 7, three of fraction."""
    exponent, fraction = bits >> 3 & 15, bits & 7
    size = np.where(exponent, (8 + fraction) * 2.0 ** (exponent - 10.0), fraction * 2.0**-9)
    return np.where(bits & 128, -size, size)


def reference_fn(a, b, row_scale, column_scale):
    return e4m3(a) @ e4m3(b).T * row_scale[:, None].astype(np.float64) * column_scale[None, :].astype(np.float64)


def get_inputs(M=512, N=512, K=512):
    rng = np.random.default_rng(0)

    def numbers(rows):
        bits = rng.integers(0, 256, (rows, K), np.uint8)
        bits[bits & 127 > 72] &= 0xBF  # no number above 4, so that none dominates the sums, and no NaN
        return bits

    return [numbers(M), numbers(N), rng.random(M, np.float32), rng.random(N, np.float32)]


def cases(quick):
    for M, N, K in [(1, 1, 1), (100, 70, 160)]:
        yield common.Case(f"{M}x{N}x{K}", "fp32", get_inputs(M, N, K), terms=K)
    size = 256 if quick else 1024
    yield common.Case(f"{size}", "fp32", get_inputs(size, size, size), terms=size, flops=2.0 * size**3)


def run(quick=False):
    return common.run("matmul, fp8", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
