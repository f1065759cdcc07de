"""tl.dot_scaled: all pairs of formats, packed along either dimension, both kinds of scales, and the effect of scales on special numbers."""

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import close, wide

FORMATS = {
    "e2m1": (np.uint8, ml_dtypes.float4_e2m1fn), "e4m3": (np.uint8, ml_dtypes.float8_e4m3fn), "e5m2": (np.uint8, ml_dtypes.float8_e5m2),
    "e2m3": (np.uint8, ml_dtypes.float6_e2m3fn), "e3m2": (np.uint8, ml_dtypes.float6_e3m2fn),
    "bf16": (ml_dtypes.bfloat16, ml_dtypes.bfloat16), "fp16": (np.float16, np.float16),
}


@triton.jit
def scaled_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
    A: tl.constexpr, B: tl.constexpr, A_ALONG_K: tl.constexpr, B_ALONG_K: tl.constexpr, FAST: tl.constexpr,
):
    AM: tl.constexpr = M if A != "e2m1" or A_ALONG_K else M // 2
    AK: tl.constexpr = K // 2 if A == "e2m1" and A_ALONG_K else K
    BN: tl.constexpr = N if B != "e2m1" or B_ALONG_K else N // 2
    BK: tl.constexpr = K // 2 if B == "e2m1" and B_ALONG_K else K
    a = tl.load(a_ptr + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])
    b = tl.load(b_ptr + tl.arange(0, BK)[:, None] * BN + tl.arange(0, BN)[None, :])
    groups = tl.arange(0, K // GROUP)
    a_scale = None
    b_scale = None
    if a_scale_ptr is not None:
        a_scale = tl.load(a_scale_ptr + tl.arange(0, M)[:, None] * (K // GROUP) + groups[None, :])
    if b_scale_ptr is not None:
        b_scale = tl.load(b_scale_ptr + tl.arange(0, N)[:, None] * (K // GROUP) + groups[None, :])
    at = c_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    c = tl.dot_scaled(a, a_scale, A, b, b_scale, B, tl.load(at), fast_math=FAST, lhs_k_pack=A_ALONG_K, rhs_k_pack=B_ALONG_K)
    tl.store(at, c)


def numbers(shape, kind, seed):
    """(finite random numbers of a format, the same numbers encoded for the kernel, one e2m1 number in each byte)."""
    rng = np.random.default_rng(seed)
    stored, element = FORMATS[kind]
    if kind in ("bf16", "fp16"):
        values = rng.standard_normal(shape).astype(element)
        return values, values
    bits = rng.integers(0, 16 if kind == "e2m1" else 256, shape).astype(np.uint8)
    if kind in ("e2m3", "e3m2"):
        return (bits & 63).view(element), bits
    if kind != "e2m1":
        bits[~np.isfinite(bits.view(element).astype(np.float32))] = 0x39
        return bits.view(element), bits
    magnitudes = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    return np.where(bits & 8, -1, 1) * magnitudes[bits & 7], bits


def packed(bits, axis):
    low, high = (np.take(bits, range(half, bits.shape[axis], 2), axis) for half in (0, 1))
    return np.ascontiguousarray(low | high << 4)


def scale_numbers(scale, compute, fast):
    if scale.dtype != np.uint8:
        return scale.astype(compute)
    powers = (scale.astype(np.uint32) << 23).view(np.float32).copy()
    if not fast:
        powers[scale == 255] = np.nan
    return powers.astype(compute)


def upcast(values, scale, group, compute, fast=False):
    """[outer, depth] numbers of a format, converted to the type in which they are multiplied."""
    with np.errstate(all="ignore"):
        values = values.astype(np.float32).astype(compute)
        if scale is None:
            return values
        return (values * np.repeat(scale_numbers(scale, compute, fast), group, axis=1)).astype(compute)


def scaled_dot(sizes, kinds, scales, group=32, along_k=(True, True), fast=False, compute=None):
    m, n, k = sizes
    a, a_bits = numbers((m, k), kinds[0], 1)
    b, b_bits = numbers((k, n), kinds[1], 2)
    if kinds[0] == "e2m1":
        a_bits = packed(a_bits, 1 if along_k[0] else 0)
    if kinds[1] == "e2m1":
        b_bits = packed(b_bits, 0 if along_k[1] else 1)
    c = np.random.default_rng(3).standard_normal((m, n)).astype(np.float32)
    compute = compute or (np.float16 if "fp16" in kinds else ml_dtypes.bfloat16)
    x, y = upcast(a, scales[0], group, compute, fast), upcast(np.asarray(b).T, scales[1], group, compute, fast).T
    with np.errstate(all="ignore"):
        expected = wide(x) @ wide(y) + c
        terms = np.abs(wide(x)) @ np.abs(wide(y)) + np.abs(c)
    scaled_kernel[(1,)](a_bits, scales[0], b_bits, scales[1], c, M=m, N=n, K=k, GROUP=group, A=kinds[0], B=kinds[1], A_ALONG_K=along_k[0],
                        B_ALONG_K=along_k[1], FAST=fast)
    return c, expected, terms


def agree(actual, expected, terms):
    """Products of these types are exact in fp32, where they are added up."""
    with np.errstate(over="ignore"):
        single = expected.astype(np.float32)
    finite = np.isfinite(single)
    np.testing.assert_array_equal(actual[~finite], single[~finite])
    close(actual[finite] / terms[finite], expected[finite] / terms[finite], "fp32")


def exponents(rows, groups, low, high, seed=4):
    return np.random.default_rng(seed).integers(low, high, (rows, groups)).astype(np.uint8)


@pytest.mark.parametrize("right", FORMATS)
@pytest.mark.parametrize("left", FORMATS)
def test_formats(left, right):
    sizes = m, n, k = 32, 16, 64
    small = "fp16" in (left, right)
    scales = [None if kind in ("bf16", "fp16") else exponents(rows, k // 32, *((120, 130) if small else (90, 160)))
              for kind, rows in ((left, m), (right, n))]
    agree(*scaled_dot(sizes, (left, right), scales))


@pytest.mark.parametrize("along_k", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("sizes", [(16, 16, 32), (64, 32, 128), (128, 128, 64)])
def test_packing(sizes, along_k):
    m, n, k = sizes
    scales = exponents(m, k // 32, 120, 135), exponents(n, k // 32, 120, 135, 5)
    agree(*scaled_dot(sizes, ("e2m1", "e2m1"), scales, along_k=along_k))


def test_groups_of_16_with_fp8_scales():
    sizes = m, n, k = 32, 32, 64
    scales = [np.random.default_rng(seed).uniform(0.1, 40, (rows, k // 16)).astype(ml_dtypes.float8_e4m3fn) for seed, rows in ((1, m), (2, n))]
    agree(*scaled_dot(sizes, ("e2m1", "e2m1"), scales, group=16))


def test_groups_of_16_with_exponents():
    agree(*scaled_dot((32, 32, 64), ("e4m3", "e2m1"), (exponents(32, 4, 120, 135), exponents(32, 4, 120, 135, 5)), group=16))


@pytest.mark.parametrize("scaled", [(False, False), (True, False), (False, True)])
def test_missing_scales(scaled):
    scales = [exponents(32, 2, 120, 130) if given else None for given in scaled]
    agree(*scaled_dot((32, 32, 64), ("e4m3", "e5m2"), scales))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("other", ["e4m3", "bf16", "fp16"])
def test_special_scales(other, fast, request):
    """255 is NaN, or infinity if there is no check; 0 is the number 0; and most exponents exceed fp16."""
    is_native = other == "e4m3" and request.config.getoption("--gpu-target") in ("cuda:sm_120a", "cuda:sm_121a")  # then only the sums are rounded
    scale = np.full((32, 2), 127, np.uint8)
    scale[1, 0], scale[2, 1], scale[3, :], scale[4, 0], scale[5, 0] = 255, 255, 0, 254, 1
    agree(*scaled_dot((32, 32, 64), ("e2m1", other), (scale, None), fast=fast and not is_native, compute=np.float64 if is_native else None))


@triton.jit
def batched_kernel(a_ptr, scale_ptr, b_ptr, c_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch = tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + (batch * M + m[None, :, None]) * (K // 2) + tl.arange(0, K // 2)[None, None, :])
    scale = tl.load(scale_ptr + (batch * M + m[None, :, None]) * (K // 32) + tl.arange(0, K // 32)[None, None, :])
    b = tl.load(b_ptr + (batch * K + k[None, :, None]) * N + n[None, None, :])
    c = tl.dot_scaled(a, scale, "e2m1", b, None, "bf16")
    tl.store(c_ptr + (batch * M + m[None, :, None]) * N + n[None, None, :], c)


def test_batches():
    a, bits = numbers((2, 16, 64), "e2m1", 1)
    b, _ = numbers((2, 64, 16), "bf16", 2)
    scale = np.random.default_rng(3).integers(120, 130, (2, 16, 2)).astype(np.uint8)
    c = np.zeros((2, 16, 16), np.float32)
    batched_kernel[(1,)](packed(bits, 2), scale, b, c, B=2, M=16, N=16, K=64)
    for i in range(2):
        x = upcast(a[i], scale[i], 32, ml_dtypes.bfloat16)
        agree(c[i], wide(x) @ wide(b[i]), np.abs(wide(x)) @ np.abs(wide(b[i])))


@triton.jit
def loop_kernel(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    half, groups = tl.arange(0, BLOCK // 2), tl.arange(0, BLOCK // 32)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + m[:, None] * K + (k + tl.arange(0, BLOCK))[None, :])
        b = tl.load(b_ptr + n[None, :] * (K // 2) + (k // 2 + half)[:, None])
        a_scale = tl.load(a_scale_ptr + m[:, None] * (K // 32) + (k // 32 + groups)[None, :])
        b_scale = tl.load(b_scale_ptr + n[:, None] * (K // 32) + (k // 32 + groups)[None, :])
        acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e2m1", acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("sizes", [(64, 64, 256, 64), (128, 64, 256, 128)])
def test_loop_over_the_depth(sizes):
    m, n, k, block = sizes
    a, a_bits = numbers((m, k), "e4m3", 1)
    b, b_bits = numbers((n, k), "e2m1", 2)
    scales = exponents(m, k // 32, 120, 130), exponents(n, k // 32, 120, 130, 5)
    c = np.zeros((m, n), np.float32)
    loop_kernel[(1,)](a_bits, scales[0], packed(b_bits, 1), scales[1], c, k, M=m, N=n, BLOCK=block)
    x, y = upcast(a, scales[0], 32, ml_dtypes.bfloat16), upcast(b, scales[1], 32, ml_dtypes.bfloat16)
    agree(c, wide(x) @ wide(y).T, np.abs(wide(x)) @ np.abs(wide(y)).T)


@triton.jit
def both_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, K, a_row, b_row, scale_row,
    M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr, GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    m, n, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK // GROUP)
    a_at = a_ptr + m[:, None] * a_row + tl.arange(0, BLOCK // A_PACK)[None, :]
    b_at = b_ptr + n[None, :] * b_row + tl.arange(0, BLOCK // B_PACK)[:, None]
    a_scales, b_scales = a_scale_ptr + m[:, None] * scale_row + groups[None, :], b_scale_ptr + n[:, None] * scale_row + groups[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, K, BLOCK):
        acc = tl.dot_scaled(tl.load(a_at), tl.load(a_scales), A, tl.load(b_at), tl.load(b_scales), B, acc)
        a_at += BLOCK // A_PACK
        b_at += BLOCK // B_PACK
        a_scales += BLOCK // GROUP
        b_scales += BLOCK // GROUP
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e5m2", "e2m1"), ("e2m1", "e4m3"), ("e2m1", "e2m1")])
@pytest.mark.parametrize("m, n, depth, warps", [(128, 64, 448, 8), (64, 128, 192, 4), (128, 256, 256, 8)])
@pytest.mark.parametrize("low, high, nan", [(120, 130, False), (120, 130, True), (90, 112, False), (113, 135, False), (113, 150, False)])
def test_both_operands_made_in_a_loop(kinds, m, n, depth, warps, low, high, nan):
    """On GPUs, products are in fp16 if that holds all numbers times their scales, and else in bf16."""
    group, numbers_of = 16 if kinds == ("e2m1", "e2m1") else 32, {}
    a, numbers_of[0] = numbers((m, depth), kinds[0], 1)
    b, numbers_of[1] = numbers((n, depth), kinds[1], 2)
    a_bits, b_bits = (packed(numbers_of[i], 1) if kinds[i] == "e2m1" else numbers_of[i] for i in (0, 1))
    if group == 16:
        scales = [np.random.default_rng(seed).uniform(0.1, 40, (rows, depth // 16)).astype(ml_dtypes.float8_e4m3fn)
                  for seed, rows in ((3, m), (4, n))]
    else:
        scales = [exponents(m, depth // 32, low, high), exponents(n, depth // 32, 120, 130, 5)]
        scales[1][2, 1] = 0
        if nan:
            scales[0][1, 0] = 255
    c = np.zeros((m, n), np.float32)
    both_kernel[(1,)](a_bits, scales[0], b_bits, scales[1], c, depth, a_bits.shape[1], b_bits.shape[1], depth // group, M=m, N=n, BLOCK=64,
                      GROUP=group, A=kinds[0], B=kinds[1], num_warps=warps, num_stages=3)
    x, y = upcast(a, scales[0], group, ml_dtypes.bfloat16), upcast(b, scales[1], group, ml_dtypes.bfloat16)
    agree(c, wide(x) @ wide(y).T, np.abs(wide(x)) @ np.abs(wide(y)).T)


@triton.jit
def rows_kernel(a_ptr, scale_ptr, b_ptr, c_ptr, M, K, stride, N: tl.constexpr, BLOCK: tl.constexpr, OTHER: tl.constexpr, B: tl.constexpr):
    m, n, k, groups = tl.arange(0, 128), tl.arange(0, N), tl.arange(0, BLOCK), tl.arange(0, BLOCK // 32)
    rows = m[:, None] < M
    acc = tl.zeros((128, N), tl.float32)
    for start in range(0, K, BLOCK):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=rows, other=0)
        b = tl.load(b_ptr + n[None, :] * K + (start + k)[:, None])
        at = scale_ptr + m[:, None] * stride + (start // 32 + groups)[None, :]
        if OTHER is not None:
            scale = tl.load(at, mask=rows & (start // 32 + groups < K // 32 - 1)[None, :], other=OTHER)
        else:
            scale = tl.load(at, mask=rows, other=0)
        acc = tl.dot_scaled(a, scale, "e4m3", b, None, B, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=rows)


@pytest.mark.parametrize("depth, gap", [(320, 0), (512, 0), (256, 3), (256, 8), (64, 0)])
@pytest.mark.parametrize("other, partner", [(None, "bf16"), (7, "bf16"), (None, "e4m3"), (7, "e4m3"), (143, "e4m3")])
def test_scales_of_rows_that_begin_anywhere(depth, gap, other, partner):
    """On GPUs, a word of memory contains the scales of several iterations. Numbers of 8 bits are multiplied in fp16 if it holds all of them times
    their scales. A mask may give scales that it does not hold."""
    rows, n, groups = 100, 256 if partner == "bf16" else 64, depth // 32  # 64: Turing has 64 KiB of shared memory
    a, a_bits = numbers((rows, depth), "e4m3", 1)
    b, b_bits = numbers((n, depth), partner, 2)
    scale = exponents(rows, groups + gap, 120, 130)
    c = np.zeros((rows, n), np.float32)
    rows_kernel[(1,)](a_bits, scale, b_bits, c, rows, depth, groups + gap, N=n, BLOCK=64, OTHER=other, B=partner)
    used = scale[:, :groups].copy()
    if other is not None:
        used[:, -1] = other
    x = upcast(a, used, 32, ml_dtypes.bfloat16)
    agree(c, wide(x) @ wide(b).T, np.abs(wide(x)) @ np.abs(wide(b)).T)


@triton.jit
def scale_kernel(a_ptr, s_ptr, b_ptr, c_ptr, A: tl.constexpr, B: tl.constexpr, K: tl.constexpr):
    """Row i of A has the scale i, and one number that is not 0."""
    row = tl.program_id(0) * 32 + tl.arange(0, 32)
    PACK: tl.constexpr = 2 if A == "e2m1" else 1
    a = tl.load(a_ptr + row[:, None] * (K // PACK) + tl.arange(0, K // PACK)[None, :])
    b = tl.load(b_ptr + tl.arange(0, K)[:, None] * 16 + tl.arange(0, 16)[None, :])
    scale = tl.load(s_ptr + row[:, None] + tl.zeros((1, K // 32), tl.int32))
    c = tl.dot_scaled(a, scale, A, b, None, B)
    tl.store(c_ptr + row[:, None] * 16 + tl.arange(0, 16)[None, :], c)


@pytest.mark.parametrize("partner", ["bf16", "e4m3", "e5m2", "fp16"])
@pytest.mark.parametrize("kind", ["e2m1", "e4m3", "e5m2"])
def test_every_scale(kind, partner):
    """Scales of all 256 bytes, with numbers that keep the product of 6, the scale and the partner's number a normal fp32."""
    a = np.zeros((256, 64 // (2 if kind == "e2m1" else 1)), np.uint8)
    a[:, 0] = {"e2m1": 7, "e4m3": 0x4c, "e5m2": 0x46}[kind]  # 6: 6 * 2^-127 is a normal number
    stored, element = FORMATS[partner]
    b = np.zeros((64, 16), element)
    b[0] = 256
    scales, c = np.arange(256, dtype=np.uint8), np.zeros((256, 16), np.float32)
    scale_kernel[(8,)](a, scales, b.view(stored), c, A=kind, B=partner, K=64)
    power = 2.0**(np.arange(256) - 127.0)
    if partner == "fp16":  # what fp16 holds
        with np.errstate(over="ignore"):
            power = power.astype(np.float16).astype(np.float64)
        power[np.isinf(power)] = np.nan  # infinity times the zeros next to the number
    power[255] = np.nan
    with np.errstate(over="ignore"):
        wanted = (6 * power * 256).astype(np.float32)
    if partner == "fp16":  # the number times its scale is rounded to fp16
        with np.errstate(over="ignore"):
            wanted = (6 * power).astype(np.float16).astype(np.float32) * np.float32(256)
    else:
        wanted[:-1] = np.where(np.isfinite((6 * power).astype(np.float32)), wanted, np.inf)[:-1]
    np.testing.assert_array_equal(c, np.repeat(wanted[:, None], 16, 1))
