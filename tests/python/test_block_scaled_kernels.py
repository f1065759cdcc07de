"""Persistent matmuls with descriptors for Blackwell GPUs, of fp16, fp8 and block-scaled numbers: assembled by ptxas, and right on the simulator, at
five sizes each.

The scales are in memory in the order of tensor memory, [rows / 128, groups / 4, 32, 4, 4], as cuBLAS takes them.
"""

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from microscaling import numbers as packed_numbers
from test_tcgen05 import device, numbers, ptx, rounding
from tilewright.tools.tensor_descriptor import TensorDescriptor

TARGETS = ["sm_100a", "sm_103a", "sm_120a"]
SIZES = [(128, 128, 256), (256, 384, 512), (200, 136, 288), (77, 264, 96), (384, 128, 1088)]
# Formats of the operands, and how many numbers share a scale. Scales of 16 numbers are e4m3, those of 32 are powers of two (e8m0).
FORMATS = {"nvfp4": ("e2m1", "e2m1", 16), "mxfp4": ("e2m1", "e2m1", 32), "mxfp8": ("e4m3", "e4m3", 32), "mixed": ("e4m3", "e2m1", 32)}


@triton.jit
def first_tile(tile, tiles_m, tiles_n):
    """Row and column of a tile: eight rows of tiles share the columns of B that are in the L2 cache."""
    in_group = 8 * tiles_n
    first = tile // in_group * 8
    rows = min(tiles_m - first, 8)
    return first + tile % in_group % rows, tile % in_group // rows


@triton.jit
def matmul(a_desc, b_desc, c_desc, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        m, n = first_tile(tile, tiles_m, tiles_n)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(a_desc.load([m * BM, k]), b_desc.load([n * BN, k]).T, acc)
        c_desc.store([m * BM, n * BN], acc.to(c_desc.dtype))


@triton.jit
def scaled_matmul(
    a_desc, sa_desc, b_desc, sb_desc, c_desc, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    WORDS: tl.constexpr = BK // GROUP // 4
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        m, n = first_tile(tile, tiles_m, tiles_n)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(tl.cdiv(K, BK)):
            a = a_desc.load([m * BM, step * (BK // A_PACK)])
            b = b_desc.load([n * BN, step * (BK // B_PACK)])
            sa = sa_desc.load([m * (BM // 128), step * WORDS, 0, 0, 0]).trans(0, 3, 2, 1, 4).reshape(BM, BK // GROUP)
            sb = sb_desc.load([n * (BN // 128), step * WORDS, 0, 0, 0]).trans(0, 3, 2, 1, 4).reshape(BN, BK // GROUP)
            acc = tl.dot_scaled(a, sa, A, b.T, sb, B, acc)
        c_desc.store([m * BM, n * BN], acc)


def describe(tensor, block):
    return TensorDescriptor.from_tensor(tensor, block)


def scales(rows, groups, group, seed):
    """(scales in the order of tensor memory, padded to whole tiles; their values for each row and group as float64)."""
    shape = (-(-rows // 128), -(-groups // 4), 32, 4, 4)
    rng = np.random.default_rng(seed)
    if group == 16:
        bits = (rng.random(shape) * 4).astype(ml_dtypes.float8_e4m3fn)
        values = bits.astype(np.float64)
    else:
        bits = rng.integers(120, 134, shape).astype(np.uint8)
        values = bits.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    return bits, values.transpose(0, 3, 2, 1, 4).reshape(shape[0] * 128, shape[1] * 4)[:rows, :groups]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["fp16", "e4m3"])
def test_persistent_matmul(kind, sizes, target):
    rows, columns, depth = sizes
    a, b = numbers((rows, depth), kind, 1), numbers((columns, depth), kind, 2)
    c = np.full((rows, columns), np.nan, np.float32)
    blocks = (128, 128, 64)
    arguments = (describe(a, [128, 64]), describe(b, [128, 64]), describe(c, [128, 128]), *sizes, 2, *blocks)
    with device(target):
        matmul[(2,)](*arguments, num_warps=4, num_stages=2)
    x, y = a.astype(np.float64), b.astype(np.float64)
    assert (np.abs(c - x @ y.T) <= depth * rounding(kind) * (np.abs(x) @ np.abs(y).T)).all()
    text = ptx(matmul, target, arguments, num_warps=4, num_stages=2)
    assert "cp.async.bulk.tensor" in text and ("mma.sync" if target == "sm_120a" else "tcgen05.mma") in text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", FORMATS)
def test_scaled_matmul(name, sizes, target):
    (rows, columns, depth), (kind_a, kind_b, group) = sizes, FORMATS[name]
    a, a_bits = packed_numbers(rows, depth, kind_a, 1)
    b, b_bits = packed_numbers(columns, depth, kind_b, 2)
    a_scales, a_factors = scales(rows, depth // group, group, 3)
    b_scales, b_factors = scales(columns, depth // group, group, 4)
    c = np.full((rows, columns), np.nan, np.float32)
    m, n, k = 128, 128, 128
    words = k // group // 4
    typed = lambda bits, kind: bits if kind == "e2m1" else bits.view(ml_dtypes.float8_e4m3fn)
    arguments = (describe(typed(a_bits, kind_a), [m, k // 2 if kind_a == "e2m1" else k]), describe(a_scales, [m // 128, words, 32, 4, 4]),
                 describe(typed(b_bits, kind_b), [n, k // 2 if kind_b == "e2m1" else k]), describe(b_scales, [n // 128, words, 32, 4, 4]),
                 describe(c, [m, n]), *sizes, 2, m, n, k, group, kind_a, kind_b)
    with device(target):
        scaled_matmul[(2,)](*arguments, num_warps=4, num_stages=2)
    x, y = a * np.repeat(a_factors, group, axis=1), b * np.repeat(b_factors, group, axis=1)
    assert (np.abs(c - x @ y.T) <= depth * rounding(kind_a) * (np.abs(x) @ np.abs(y).T)).all()
    text = ptx(scaled_matmul, target, arguments, num_warps=4, num_stages=2)
    assert "block_scale" in text and ("mma.sync" if target == "sm_120a" else "tcgen05.mma") in text


@triton.jit
def tile_of_a_program(
    a_tiles, a_scales, b_tiles, b_scales, c_tiles, M: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):
    """Scales come in boxes of [1, blocks of rows, words, 2, 256] bytes: long rows for TMA. Sizes are constants."""
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    WORDS: tl.constexpr = BK // GROUP // 4
    m, n = tl.program_id(0) % tl.cdiv(M, BM), tl.program_id(0) // tl.cdiv(M, BM)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in tl.range(0, tl.cdiv(K, BK), num_stages=STAGES):
        a, b = a_tiles.load([m * BM, step * (BK // A_PACK)]), b_tiles.load([n * BN, step * (BK // B_PACK)])
        left = a_scales.load([0, m * (BM // 128), step * WORDS, 0, 0]).reshape(BM // 128, WORDS, 32, 4, 4)
        right = b_scales.load([0, n * (BN // 128), step * WORDS, 0, 0]).reshape(BN // 128, WORDS, 32, 4, 4)
        left = left.trans(0, 3, 2, 1, 4).reshape(BM, BK // GROUP)
        right = right.trans(0, 3, 2, 1, 4).reshape(BN, BK // GROUP)
        acc = tl.dot_scaled(a, left, A, b.T, right, B, acc)
    c_tiles.store([m * BM, n * BN], acc.to(tl.float16))


def below_one(values, bits, kind):
    """Numbers of e4m3 without those of 1 or more, which sum up to more than fp16 has. Those of e2m1 are small."""
    if kind == "e2m1":
        return values, bits
    bits = (bits & 0x80) | (bits % 0x38)
    return bits.view(ml_dtypes.float8_e4m3fn).astype(np.float64), bits


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sizes", [(256, 512, 512), (128, 256, 768)])
@pytest.mark.parametrize("name", FORMATS)
def test_one_tile_of_a_program(name, sizes, target):
    """The form of Triton's tutorial of block-scaled matmuls, with its tiles of 128x256 and four stages."""
    (rows, columns, depth), (kind_a, kind_b, group) = sizes, FORMATS[name]
    a, a_bits = packed_numbers(rows, depth, kind_a, 1)
    b, b_bits = packed_numbers(columns, depth, kind_b, 2)
    a_scales, a_factors = scales(rows, depth // group, group, 3)
    b_scales, b_factors = scales(columns, depth // group, group, 4)
    (a, a_bits), (b, b_bits) = below_one(a, a_bits, kind_a), below_one(b, b_bits, kind_b)
    if group == 32:  # at most 4, for a result in fp16
        a_scales, a_factors, b_scales, b_factors = a_scales - 4, a_factors / 16, b_scales - 4, b_factors / 16
    c = np.full((rows, columns), np.nan, np.float16)
    m, n, k = 128, 256, 256 if kind_a == "e2m1" else 128
    words = k // group // 4
    typed = lambda bits, kind: bits if kind == "e2m1" else bits.view(ml_dtypes.float8_e4m3fn)
    boxes = lambda x: x.reshape(1, *x.shape[:2], 2, 256)
    arguments = (describe(typed(a_bits, kind_a), [m, k // 2 if kind_a == "e2m1" else k]), describe(boxes(a_scales), [1, m // 128, words, 2, 256]),
                 describe(typed(b_bits, kind_b), [n, k // 2 if kind_b == "e2m1" else k]), describe(boxes(b_scales), [1, n // 128, words, 2, 256]),
                 describe(c, [m, n]), rows, depth, kind_a, kind_b, group, m, n, k, 4)
    with device(target):
        tile_of_a_program[(rows // m * (columns // n),)](*arguments)
    x, y = a * np.repeat(a_factors, group, axis=1), b * np.repeat(b_factors, group, axis=1)
    error = depth * rounding(kind_a) * (np.abs(x) @ np.abs(y).T)
    assert (np.abs(c - x @ y.T) <= error + np.maximum(2.0**-11 * np.abs(x @ y.T), 2.0**-25)).all()
    text = ptx(tile_of_a_program, target, arguments)
    assert "block_scale" in text and ("mma.sync" if target == "sm_120a" else "tcgen05.mma") in text
