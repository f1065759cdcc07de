"""Matrix product as one would ship it: autotuned, specialised, with a fused epilogue.

The best tile depends on the sizes, the dtype and the machine, so the kernel brings a list of candidates and the first
call for a new (M, N, K) measures them. The list mixes tiles made for a GPU with ones that suit a CPU's caches; nothing
else in the kernel knows on which machine it runs. `heuristics` derives a constant from the arguments: where BLOCK_K
divides K, the loop needs no masks at all. The activation is applied to the fp32 accumulator, before rounding.

On a GPU a few rows or columns more than whole tiles would take another round of all multiprocessors: a second kernel computes them in
small tiles.
"""

import numpy as np
import triton
import triton.language as tl

import common


def get_autotune_configs():
    tiles = [
        # (BLOCK_M, BLOCK_N, BLOCK_K, warps, stages): a GPU's favourites first
        (128, 256, 64, 8, 3),
        (128, 128, 32, 4, 4),
        (64, 256, 32, 4, 4),
        (128, 128, 64, 8, 4),  # rows that start anywhere, which threads load
        # products of a few tiles wait for memory: small tiles, and many of them on their way
        (64, 128, 64, 4, 6),
        (64, 128, 64, 4, 4),
        (64, 32, 128, 4, 6),
        # few and deep: a CPU's caches are large and its loop overhead is what counts; the largest suits matrix registers (AMX)
        (128, 256, 256, 8, 3),
        (64, 256, 256, 8, 3),
        (128, 512, 256, 8, 3),
        (256, 512, 512, 8, 3),
        (64, 64, 64, 4, 3),
    ]
    # The blocks of a program copy for one another what all of them read: (..., blocks). Rows at odd multiples of 16 bytes ask for it.
    shared = [(256, 256, 64, 8, 4, 2), (128, 128, 64, 4, 6, 2)]
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_warps=warps, num_stages=stages, num_ctas=blocks)
        for m, n, k, warps, stages, blocks in [(*tile, 1) for tile in tiles] + shared
    ]


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(configs=get_autotune_configs(), key=["M", "N", "K"])
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@triton.jit
def tuned_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    EVEN_K: tl.constexpr, ACTIVATION: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles_in_group = GROUP_M * tiles_n
    first_m = pid // tiles_in_group * GROUP_M
    group_m = min(tiles_m - first_m, GROUP_M)
    pid_m = first_m + (pid % tiles_in_group) % group_m
    pid_n = (pid % tiles_in_group) // group_m

    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    c = acc.to(c_ptr.dtype.element_ty)

    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


@triton.jit
def edge_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, rows_done, columns_done,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK: tl.constexpr, BLOCK_K: tl.constexpr, ACTIVATION: tl.constexpr,
):
    """The rows below what is done, then the columns beside it."""
    tile = tl.program_id(axis=0)
    across = tl.cdiv(N, BLOCK)
    down = tl.cdiv(rows_done, BLOCK)
    below = tl.cdiv(M - rows_done, BLOCK) * across
    row = tl.where(tile < below, rows_done + tile // across * BLOCK, (tile - below) % down * BLOCK)
    column = tl.where(tile < below, tile % across * BLOCK, columns_done + (tile - below) // down * BLOCK)
    offs_m = row + tl.arange(0, BLOCK)
    offs_n = column + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
        b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    c_ptrs = c_ptr + stride_cm * offs_m[:, None] + stride_cn * offs_n[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


TILE, EDGE = 256, 64  # what whole tiles are counted in, and the small ones


def whole(size):
    """How much of a size whole tiles cover, where they leave little of many; else all of it."""
    return size - size % TILE if size % TILE <= EDGE and size >= 8 * TILE else size


def matmul(a, b, activation="", out=None):
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul cannot multiply {a.shape} by {b.shape}: the inner sizes differ")
    (M, K), N = a.shape, b.shape[1]
    out = common.empty((M, N), a) if out is None else out
    rows, columns = (whole(M), whole(N)) if common.is_on_gpu(out) else (M, N)
    grid = lambda meta: (triton.cdiv(rows, meta["BLOCK_M"]) * triton.cdiv(columns, meta["BLOCK_N"]),)
    strides = *common.strides(a), *common.strides(b), *common.strides(out)
    tuned_matmul_kernel[grid](a, b, out, rows, columns, K, *strides, ACTIVATION=activation)
    if (rows, columns) != (M, N):
        tiles = triton.cdiv(M - rows, EDGE) * triton.cdiv(N, EDGE) + triton.cdiv(N - columns, EDGE) * triton.cdiv(rows, EDGE)
        edge_kernel[(tiles,)](
            a, b, out, M, N, K, rows, columns, *strides, BLOCK=EDGE, BLOCK_K=64, ACTIVATION=activation, num_warps=4, num_stages=8)
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
