"""Products of microscaling formats in tiles of 256x128, whose second operand a separate warpgroup widens on GPUs with roles: all formats,
sizes that are not multiples of a block, scales that fp16 cannot hold."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from test_scaled_dot import agree, exponents, numbers, packed, upcast
import ml_dtypes
from checks import wide


@triton.jit
def matmul_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, stride_as, stride_bs,
    A: tl.constexpr, B: tl.constexpr, GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    rows, columns = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    m, n, groups = rows % M, columns % N, tl.arange(0, BLOCK_K // GROUP)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptr + m[:, None] * (K // A_PACK) + (k * (BLOCK_K // A_PACK) + tl.arange(0, BLOCK_K // A_PACK))[None, :])
        b = tl.load(b_ptr + n[None, :] * (K // B_PACK) + (k * (BLOCK_K // B_PACK) + tl.arange(0, BLOCK_K // B_PACK))[:, None])
        at = k * (BLOCK_K // GROUP) + groups
        a_scale = None
        if a_scale_ptr is not None:
            a_scale = tl.load(a_scale_ptr + m[:, None] * stride_as + at[None, :])
        b_scale = None
        if b_scale_ptr is not None:
            b_scale = tl.load(b_scale_ptr + n[:, None] * stride_bs + at[None, :])
        acc = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@triton.jit
def tiles_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, a_stride, b_stride, stride,
    A: tl.constexpr, B: tl.constexpr, GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N), tl.num_programs(0)):
        rows = tile // tl.cdiv(N, BLOCK_N) * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = tile % tl.cdiv(N, BLOCK_N) * BLOCK_N + tl.arange(0, BLOCK_N)
        m, n, groups = rows % M, columns % N, tl.arange(0, BLOCK_K // GROUP)
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            a = tl.load(a_ptr + m[:, None] * a_stride + (k // A_PACK + tl.arange(0, BLOCK_K // A_PACK))[None, :])
            b = tl.load(b_ptr + n[None, :] * b_stride + (k // B_PACK + tl.arange(0, BLOCK_K // B_PACK))[:, None])
            a_scale = None
            if a_scale_ptr is not None:
                a_scale = tl.load(a_scale_ptr + m[:, None] * stride + (k // GROUP + groups)[None, :])
            b_scale = tl.load(b_scale_ptr + n[:, None] * stride + (k // GROUP + groups)[None, :])
            acc = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc)
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


def product(sizes, kinds, scales, group=32, block=64, stages=4, programs=0):
    m, n, k = sizes
    a, a_bits = numbers((m, k), kinds[0], 1)
    b, b_bits = numbers((n, k), kinds[1], 2)
    a_bits, b_bits = (packed(bits, 1) if kind == "e2m1" else bits for bits, kind in ((a_bits, kinds[0]), (b_bits, kinds[1])))
    c = np.full((m, n), np.nan, np.float32)
    settings = {"A": kinds[0], "B": kinds[1], "GROUP": group, "BLOCK_M": 256, "BLOCK_N": 128, "BLOCK_K": block, "num_warps": 8, "num_stages": stages}
    if programs:
        tiles_kernel[(programs,)](a_bits, scales[0], b_bits, scales[1], c, m, n, k, a_bits.shape[1], b_bits.shape[1], scales[1].shape[1], **settings)
    else:
        matmul_kernel[(triton.cdiv(m, 256), triton.cdiv(n, 128))](
            a_bits, scales[0], b_bits, scales[1], c, m, n, k, *(0 if scale is None else scale.shape[1] for scale in scales), **settings)
    x, y = (upcast(values, scale, group, ml_dtypes.bfloat16) for values, scale in ((a, scales[0]), (b, scales[1])))
    agree(c, wide(x) @ wide(y).T, np.abs(wide(x)) @ np.abs(wide(y)).T)


def scales_of(kinds, sizes, low, high):
    m, n, k = sizes
    return [None if kind == "bf16" else exponents(rows, k // 32, low, high, seed)
            for kind, rows, seed in ((kinds[0], m, 4), (kinds[1], n, 5))]


@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e4m3", "e2m1"), ("e2m1", "e4m3"), ("e2m1", "e2m1"), ("e5m2", "e4m3"), ("bf16", "e2m1"), ("bf16", "e4m3"), ("e4m3", "bf16")])
@pytest.mark.parametrize("sizes", [(256, 128, 64), (256, 128, 640), (200, 300, 320)])
def test_formats(kinds, sizes):
    product(sizes, kinds, scales_of(kinds, sizes, 118, 132))


@pytest.mark.parametrize("low, high", [((90, 133), (120, 132)), ((120, 132), (90, 133)), ((120, 160), (118, 125)), ((118, 125), (120, 160))])
def test_scales_beyond_half(low, high):
    """The loop in fp16 finds that fp16 cannot hold all numbers of the first operand, or of the second one."""
    sizes = m, n, k = 256, 128, 320
    product(sizes, ("e4m3", "e4m3"), (exponents(m, k // 32, *low), exponents(n, k // 32, *high, 5)))


@pytest.mark.parametrize("kinds", [("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e2m1", "e4m3")])
@pytest.mark.parametrize("ends", [(107, 136), (106, 120), (120, 137), (113, 134), (0, 107)])
def test_ends_of_what_half_holds(kinds, ends):
    """Numbers of e2m1 are made times 2^-6, and their scales, from 2^-20 to 2^9, times 2^6."""
    m, n, k = 256, 128, 192
    scales = [np.where(np.random.default_rng(seed).random((rows, k // 32)) < 0.5, *ends).astype(np.uint8) for seed, rows in ((1, m), (2, n))]
    for each in scales:
        each[:, 0] = ends[1]
    product((m, n, k), kinds, scales)


@pytest.mark.parametrize("operand", [0, 1])
def test_scale_that_is_no_number(operand):
    sizes = m, n, k = 256, 128, 256
    scales = exponents(m, k // 32, 120, 130), exponents(n, k // 32, 120, 130, 5)
    scales[operand][17, 3] = 255
    product(sizes, ("e4m3", "e2m1"), scales)


@pytest.mark.parametrize("block, stages", [(64, 2), (64, 3), (32, 4), (128, 3)])
def test_blocks_and_stages(block, stages):
    sizes = m, n, k = 256, 128, 384
    product(sizes, ("e4m3", "e4m3"), (exponents(m, k // 32, 118, 130), exponents(n, k // 32, 118, 130, 5)), block=block, stages=stages)


@pytest.mark.parametrize("k", [64, 192, 448])
def test_groups_of_16(k):
    sizes = m, n, k = 256, 128, k
    scales = [np.random.default_rng(seed).uniform(0.1, 40, (rows, k // 16)).astype(ml_dtypes.float8_e4m3fn) for seed, rows in ((1, m), (2, n))]
    product(sizes, ("e2m1", "e2m1"), scales, group=16)


@pytest.mark.parametrize("kinds, group", [
    (("e2m1", "e2m1"), 16), (("bf16", "e2m1"), 32), (("e4m3", "e4m3"), 32), (("e2m1", "e2m1"), 32), (("e4m3", "e2m1"), 32), (("e2m1", "e4m3"), 32),
    (("e5m2", "e4m3"), 32)])
@pytest.mark.parametrize("sizes, programs", [((700, 300, 256), 1), ((512, 256, 64), 3), ((700, 200, 768), 2), ((256, 128, 128), 5)])
def test_loop_over_tiles(kinds, group, sizes, programs):
    """Who widens goes on with the next tile while this one is stored."""
    if group == 32:
        scales = scales_of(kinds, sizes, 118, 132)
    else:
        scales = [np.random.default_rng(rows).uniform(0.1, 40, (rows, sizes[2] // 16)).astype(ml_dtypes.float8_e4m3fn) for rows in sizes[:2]]
    product(sizes, kinds, scales, group=group, programs=programs)


@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e2m1", "e4m3")])
@pytest.mark.parametrize("operand, row, scale", [(0, 0, 160), (0, 699, 90), (1, 170, 150), (0, 300, 255), (1, 299, 255)])
def test_tiles_beyond_half(kinds, operand, row, scale):
    """One scale of one tile, of the first, of one in the middle or of the last, is none for fp16: all tiles are made again."""
    sizes = m, n, k = 700, 300, 192
    scales = scales_of(kinds, sizes, 118, 128)
    scales[operand][row, 3] = scale
    product(sizes, kinds, scales, programs=2)
