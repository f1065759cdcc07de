"""Matmul for production: autotuned and specialized, with a fused epilogue.

The best tile depends on the sizes, the dtype and the machine. So the kernel has a list of configurations, and the first call
with new sizes or row strides measures them. The list has tiles for GPUs and tiles that suit a CPU's caches. Nothing
else in the kernel depends on the machine. `heuristics` derives a constant from the arguments: if BLOCK_K divides K, the
loop needs no masks. The activation is applied to the fp32 accumulator, before rounding.

With irregular sizes, SMs are idle in the last wave of tiles. Two kinds of configurations reduce this:
- Tile widths that are not powers of two: `any_size`, or two dots that share the rows of A (`EXTRA_N`).
- Small tiles for a few rows or columns that remain after the whole tiles (`EDGE`). They run last.
Rows of A are contiguous in K, so M can be cut anywhere. Columns of B can be cut only into multiples of 64. A tile with an
irregular number of rows is therefore computed as the transposed matmul B' A' (`TRANSPOSED`).
"""

import numpy as np
import triton
import triton.language as tl

import common


def get_autotune_configs():
    tiles = [
        # (BLOCK_M, BLOCK_N, BLOCK_K, warps, stages): the best on GPUs first
        (128, 256, 64, 8, 3),
        (128, 128, 32, 4, 4),
        (64, 256, 32, 4, 4),
        (128, 128, 64, 8, 4),  # for unaligned rows, which threads load without TMA
        # matmuls of a few tiles wait for memory: small tiles with many loads in flight
        (64, 128, 64, 4, 6),
        (64, 128, 64, 4, 4),
        (64, 32, 128, 4, 6),
        # large tiles with a large BLOCK_K for CPUs: their caches are large, and loop overhead matters. The largest one suits AMX
        (128, 256, 256, 8, 3),
        (64, 256, 256, 8, 3),
        (128, 512, 256, 8, 3),
        (256, 512, 512, 8, 3),
        (64, 64, 64, 4, 3),
    ]
    # (..., CTAs): the CTAs of a cluster share their loads by multicast. This pays for row strides that are odd multiples of 16 bytes.
    shared = [(256, 256, 64, 8, 4, 2), (128, 128, 64, 4, 6, 2)]
    plain = [(*tile, 1, 0, 0) for tile in tiles] + [(*tile, 0, 0) for tile in shared]
    # (..., EXTRA_N, EDGE): for sizes that the tiles above cover badly
    uneven = [(256, 256, 64, 8, 4, 2, 64, 0), (256, 256, 64, 8, 4, 2, 128, 0), (256, 128, 64, 8, 5, 2, 64, 0),
              (128, 256, 64, 8, 3, 1, 0, 64),
              (256, 216, 64, 8, 3, 1, 0, 0), (256, 184, 64, 8, 4, 1, 0, 0), (256, 184, 64, 8, 4, 2, 0, 0), (256, 224, 64, 8, 5, 2, 0, 0),
              (128, 216, 64, 8, 5, 2, 0, 0), (128, 176, 64, 4, 6, 2, 0, 0)]
    # Transposed tiles. With two CTAs, each has half of the rows, and they share the loads of the columns.
    # TRANSPOSED is the number of CTAs.
    transposed = [(320, 128, 64, 8, 4, 2), (288, 192, 64, 8, 5, 2), (352, 192, 64, 8, 4, 2), (304, 192, 64, 8, 4, 2), (144, 192, 64, 8, 5, 2),
              (176, 128, 64, 4, 6, 2), (224, 256, 64, 8, 5, 2)]
    # A tile with a large BLOCK_K leaves its columns of B in the cache for the tile below it, so its groups are higher.
    all_tiles = [(*tile, 0) for tile in plain + uneven] + [(*tile, 0, 0, tile[-1]) for tile in transposed]
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 32 if k >= 256 else 8, "EXTRA_N": extra_n, "EDGE": edge,
                       "TRANSPOSED": transposed_by}, num_warps=warps, num_stages=stages, num_ctas=ctas)
        for m, n, k, warps, stages, ctas, extra_n, edge, transposed_by in all_tiles
    ]


def worth_measuring(configs, args, **constants):
    """Keeps irregular tiles for large matmuls on a GPU, and edge tiles if few rows or columns remain after the whole tiles."""
    def suits(c):
        sides = [(args["M"], c["BLOCK_M"]), (args["N"], c["BLOCK_N"] + c["EXTRA_N"])]
        many = common.is_on_gpu(args["c_ptr"]) and all(size >= (3 if c["TRANSPOSED"] else 4) * block for size, block in sides)
        left = any(0 < size % block <= c["EDGE"] for size, block in sides)
        uneven = c["EXTRA_N"] or c["TRANSPOSED"] or c["BLOCK_N"] & (c["BLOCK_N"] - 1)
        return (many or not uneven) and (many and left or not c["EDGE"])
    return [config for config in configs if suits(config.kwargs)]


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def load_step(ptrs, offs_k, left, EVEN_K: tl.constexpr):
    return tl.load(ptrs) if EVEN_K else tl.load(ptrs, mask=offs_k < left, other=0.0)


@triton.jit
def store_tile(c_ptr, acc, offs_m, offs_n, M, N, stride_cm, stride_cn, ACTIVATION: tl.constexpr):
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@triton.jit
def matmul_tile(
    a_ptr, b_ptr, c_ptr, row, column, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, EXTRA_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
    EVEN_K: tl.constexpr, ACTIVATION: tl.constexpr,
):
    offs_m = row + tl.arange(0, BLOCK_M)
    offs_n = column + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + ((offs_m % M)[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + (offs_n % N)[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if EXTRA_N:
        more_n = column + BLOCK_N + tl.arange(0, EXTRA_N)
        more_ptrs = b_ptr + (offs_k[:, None] * stride_bk + (more_n % N)[None, :] * stride_bn)
        more = tl.zeros((BLOCK_M, EXTRA_N), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=STAGES, warp_specialize=EXTRA_N != 0):
        left = K - k * BLOCK_K
        a = load_step(a_ptrs, offs_k[None, :], left, EVEN_K)
        acc = tl.dot(a, load_step(b_ptrs, offs_k[:, None], left, EVEN_K), acc)
        if EXTRA_N:
            more = tl.dot(a, load_step(more_ptrs, offs_k[:, None], left, EVEN_K), more)
            more_ptrs += BLOCK_K * stride_bk
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    store_tile(c_ptr, acc, offs_m, offs_n, M, N, stride_cm, stride_cn, ACTIVATION)
    if EXTRA_N:
        store_tile(c_ptr, more, offs_m, more_n, M, N, stride_cm, stride_cn, ACTIVATION)


@triton.jit
def transposed_matmul_tile(
    a_ptr, b_ptr, c_ptr, row, column, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SHARED: tl.constexpr, ACTIVATION: tl.constexpr,
):
    offs_m = row + tl.arange(0, BLOCK_M)
    offs_n = column + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=SHARED):
        offs_k = k + tl.arange(0, BLOCK_K)
        a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
        b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(b.T, a.T, acc)
    store_tile(c_ptr, acc, offs_n, offs_m, N, M, stride_cn, stride_cm, ACTIVATION)


# The row strides decide how tiles are loaded, and so which tile is the best.
@triton.autotune(
    configs=get_autotune_configs(), key=["M", "N", "K", "stride_am", "stride_bk"], prune_configs_by={"early_config_prune": worth_measuring}
)
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@triton.jit(any_size=True)
def tuned_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr, ACTIVATION: tl.constexpr, EXTRA_N: tl.constexpr = 0, EDGE: tl.constexpr = 0, TRANSPOSED: tl.constexpr = 0,
    LONG: tl.constexpr = 256,
):
    tile = tl.program_id(axis=0)
    WIDTH: tl.constexpr = BLOCK_N + EXTRA_N
    tiles_m = tl.cdiv(M - EDGE, BLOCK_M)
    tiles_n = tl.cdiv(N - EDGE, WIDTH)
    if TRANSPOSED:
        tiles_in_group = GROUP_M * tiles_m
        first_n = tile // tiles_in_group * GROUP_M
        group_n = min(tiles_n - first_n, GROUP_M)
        row = (tile % tiles_in_group) // group_n * BLOCK_M
        column = (first_n + (tile % tiles_in_group) % group_n) * BLOCK_N
        transposed_matmul_tile(
            a_ptr, b_ptr, c_ptr, row, column, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
            BLOCK_M, BLOCK_N, BLOCK_K, TRANSPOSED == 2, ACTIVATION)
    elif EDGE == 0 or tile < tiles_m * tiles_n:
        tiles_in_group = GROUP_M * tiles_n
        first_m = tile // tiles_in_group * GROUP_M
        group_m = min(tiles_m - first_m, GROUP_M)
        row = (first_m + (tile % tiles_in_group) % group_m) * BLOCK_M
        column = (tile % tiles_in_group) // group_m * WIDTH
        matmul_tile(
            a_ptr, b_ptr, c_ptr, row, column, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
            BLOCK_M, BLOCK_N, EXTRA_N, BLOCK_K, None, EVEN_K, ACTIVATION)
    else:  # the rows below the whole tiles, then the columns to their right
        tile -= tiles_m * tiles_n
        across = tl.cdiv(N, LONG)
        below = tl.cdiv(max(M - tiles_m * BLOCK_M, 0), EDGE) * across
        if tile < below:
            matmul_tile(
                a_ptr, b_ptr, c_ptr, tiles_m * BLOCK_M + tile // across * EDGE, tile % across * LONG, M, N, K,
                stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, EDGE, LONG, 0, BLOCK_K, 8, EVEN_K, ACTIVATION)
        else:
            down = tl.cdiv(tiles_m * BLOCK_M, LONG)
            matmul_tile(
                a_ptr, b_ptr, c_ptr, (tile - below) % down * LONG, tiles_n * WIDTH + (tile - below) // down * EDGE, M, N, K,
                stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, LONG, EDGE, 0, BLOCK_K, 8, EVEN_K, ACTIVATION)


def tiles_of(M, N, meta):
    """Returns the number of tiles: whole tiles and edge tiles. Edge tiles run on SMs that are idle in the last wave of whole tiles."""
    edge, long, width = meta["EDGE"], meta["LONG"], meta["BLOCK_N"] + meta["EXTRA_N"]
    tiles_m, tiles_n = triton.cdiv(M - edge, meta["BLOCK_M"]), triton.cdiv(N - edge, width)
    rows, columns = tiles_m * meta["BLOCK_M"], tiles_n * width
    below = triton.cdiv(M - rows, edge) * triton.cdiv(N, long) if M > rows else 0
    right = triton.cdiv(N - columns, edge) * triton.cdiv(rows, long) if N > columns else 0
    return tiles_m * tiles_n + below + right


def matmul(a, b, activation="", out=None):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul cannot multiply {a.shape} by {b.shape}: the inner sizes differ")
    (M, K), N = a.shape, b.shape[1]
    out = common.empty((M, N), a) if out is None else out
    tuned_matmul_kernel[lambda meta: (tiles_of(M, N, meta),)](
        a, b, out, M, N, K, *common.strides(a), *common.strides(b), *common.strides(out), ACTIVATION=activation)
    return out


kernel_fn = matmul


def reference_fn(a, b, activation=""):
    c = a.astype(np.float64) @ b.astype(np.float64)
    return np.where(c >= 0, c, 0.01 * c) if activation == "leaky_relu" else c


def get_inputs(M=512, N=512, K=512, dtype="fp32"):
    return [common.randn(M, K, dtype=dtype, seed=1), common.randn(K, N, dtype=dtype, seed=2)]


def cases(quick):
    yield common.Case("1x1x1", "fp32", get_inputs(1, 1, 1))
    yield common.Case("100x300x70 leaky", "fp32", [*get_inputs(100, 300, 70), "leaky_relu"], terms=70)
    size = 256 if quick else 1024
    for dtype in ["fp16", "bf16", "fp32"]:
        if dtype in common.DTYPES:
            yield common.Case(f"{size}", dtype, get_inputs(size, size, size, dtype), terms=size, flops=2.0 * size**3)


def run(quick=False):
    return common.run("matmul, autotuned", kernel_fn, reference_fn, cases(quick), quick)


if __name__ == "__main__":
    common.main(run)
