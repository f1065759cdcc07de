"""tl.sort and tl.topk: all lengths, types and orders, also with NaN and zeros of both signs, which all remain."""

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@triton.jit
def sort_kernel(x_ptr, out_ptr, LINES: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    line = tl.arange(0, LINES)[:, None]
    x = tl.load(x_ptr + line * N + tl.arange(0, N)[None, :])
    if K == N:
        y = tl.sort(x, descending=DESCENDING)
    else:
        y = tl.topk(x, K, descending=DESCENDING)
    tl.store(out_ptr + line * K + tl.arange(0, K)[None, :], y)


def run(x, kept, descending):
    lines, length = x.shape
    out = np.zeros((lines, kept), x.dtype)
    sort_kernel[(1,)](x, out, LINES=lines, N=length, K=kept, DESCENDING=descending)
    return out


def expected(x, kept, descending):
    ordered = np.sort(x, 1)
    return (ordered[:, ::-1] if descending else ordered)[:, :kept]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("lines, length, kept", [(1, 1, 1), (2, 2, 2), (2, 4, 1), (1, 8, 8), (4, 16, 2), (1, 32, 16), (2, 64, 64), (1, 256, 4),
                                                 (2, 256, 32), (1, 512, 512), (1, 1024, 128)])
def test_lengths(lines, length, kept, descending):
    x = random((lines, length), "fp32", length)
    np.testing.assert_array_equal(run(x, kept, descending), expected(x, kept, descending))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp16", "bf16", "fp64"])
@pytest.mark.parametrize("kept", [64, 8])
def test_types(dtype, kept):
    if dtype == "bf16":
        x = random((2, 64), "fp32", 3).astype(ml_dtypes.bfloat16)
    elif dtype.startswith("fp"):
        x = random((2, 64), dtype, 3)
    else:
        limits = np.iinfo(dtype)  # unsigned and signed comparisons disagree on the largest and smallest
        x = np.random.default_rng(3).integers(limits.min, limits.max, (2, 64), dtype, endpoint=True)
    np.testing.assert_array_equal(run(x, kept, True), expected(x, kept, True))
    np.testing.assert_array_equal(run(x, kept, False), expected(x, kept, False))


@triton.jit
def types_kernel(x_ptr, out_ptr, WIDE: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.static_assert(tl.sort(x).dtype == x.dtype)
    tl.static_assert(tl.topk(x, 64).dtype == x.dtype)
    y = tl.topk(x, K)
    tl.static_assert(y.dtype == WIDE)
    tl.store(out_ptr + tl.arange(0, K), y)


@pytest.mark.parametrize("dtype, wide", [("fp16", "float32"), ("int8", "int32"), ("uint16", "int32"), ("uint32", "uint32"), ("fp64", "float64")])
def test_what_leaves_some_out_has_the_type_of_a_maximum(dtype, wide):
    x = random((64,), dtype, 3) if dtype.startswith("fp") else np.random.default_rng(3).integers(0, 100, 64).astype(dtype)
    out = np.zeros(8, wide)
    types_kernel[(1,)](x, out, WIDE=getattr(tl, wide), K=8)
    np.testing.assert_array_equal(out, np.sort(x)[::-1][:8].astype(wide))


TYPES = {
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64, "fp8e4nv": ml_dtypes.float8_e4m3fn,
    "fp8e5": ml_dtypes.float8_e5m2, "fp8e4b8": ml_dtypes.float8_e4m3fnuz, "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
}


def argument(name, values):
    return triton.reinterpret(values.view(np.uint8), getattr(tl, name.replace("fp8", "float8"))) if name.startswith("fp8") else values


def in_order(x, descending):
    """Ascending order has NaN after all numbers, descending order before them, as in PyTorch."""
    ordered = np.sort(x.astype(np.float64), 1)  # NumPy has NaN last
    return ordered[:, ::-1] if descending else ordered


def special(name, lines, length):
    """Random numbers with NaNs of both signs and all kinds, infinities and zeros of both signs among them."""
    dtype = np.dtype(TYPES[name])
    rng = np.random.default_rng(length)
    bits = rng.integers(0, 256, (lines, length * dtype.itemsize), np.uint8).view(dtype)
    chosen = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]).astype(dtype)[rng.integers(0, 8, bits.shape)]
    return np.where(rng.random(bits.shape) < 0.5, bits, chosen)


@triton.jit
def sorted_kernel(x_ptr, out_ptr, LINES: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, LINES)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at), descending=DESCENDING))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length", [2, 16, 64, 256])
@pytest.mark.parametrize("name", TYPES)
def test_nothing_is_lost_and_nan_is_last(name, length, descending):
    x = special(name, 2, length)
    out = np.zeros_like(x)
    sorted_kernel[(1,)](argument(name, x), argument(name, out), LINES=2, N=length, DESCENDING=descending)
    np.testing.assert_array_equal(out.astype(np.float64), in_order(x, descending))
    bits = f"u{x.dtype.itemsize}"  # the same elements: only the sign of a NaN may go
    is_nan = np.isnan(x.astype(np.float64))
    mask = 2**(8 * x.dtype.itemsize - 1) - 1 if not name.endswith(("b8", "b16")) else 255
    given = np.where(is_nan, x.view(bits) & x.view(bits).dtype.type(mask), x.view(bits))
    np.testing.assert_array_equal(np.sort(out.view(bits), 1), np.sort(given, 1))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length, kept", [(8, 1), (16, 4), (256, 32)])
@pytest.mark.parametrize("name", ["fp16", "bf16", "fp32", "fp64"])
def test_the_first_elements_with_nan(name, length, kept, descending):
    x = special(name, 2, length)
    out = np.zeros((2, kept), x.dtype)
    sort_kernel[(1,)](x, out, LINES=2, N=length, K=kept, DESCENDING=descending)
    np.testing.assert_array_equal(out.astype(np.float64), in_order(x, descending)[:, :kept])


@triton.jit(any_size=True)
def any_size_kernel(x_ptr, out_ptr, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, K), tl.topk(tl.load(x_ptr + tl.arange(0, N)), K, descending=DESCENDING))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length, kept", [(3, 3), (5, 2), (24, 24), (50, 7)])
def test_any_size_with_nan(length, kept, descending):
    x = special("fp32", 1, length)
    out = np.zeros((1, kept), np.float32)
    any_size_kernel[(1,)](x, out, N=length, K=kept, DESCENDING=descending)
    np.testing.assert_array_equal(out, in_order(x, descending)[:, :kept])


@triton.jit
def merge_kernel(x_ptr, out_ptr, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.bitonic_merge(tl.load(x_ptr + at), descending=DESCENDING))


@pytest.mark.parametrize("descending", [False, True])
def test_a_merge_loses_nothing(descending):
    rising, falling = in_order(special("fp32", 2, 16), False)[0], in_order(special("fp32", 2, 16), True)[1]
    x = np.concatenate([rising, falling]).astype(np.float32)
    out = np.zeros_like(x)
    merge_kernel[(1,)](x, out, N=32, DESCENDING=descending)
    np.testing.assert_array_equal(out, in_order(x[None], descending)[0])


@triton.jit
def extreme_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.max(x, 0))
    tl.store(out_ptr + 1, tl.min(x, 0))
    tl.store(out_ptr + 2, tl.argmax(x, 0))
    tl.store(out_ptr + 3, tl.argmin(x, 0))


@pytest.mark.parametrize("values, wanted", [([3, np.nan, 7, 1], [7, 1, 2, 3]), ([np.nan, np.nan, 5, np.nan], [5, 5, 2, 2]),
                                            ([-np.inf, np.nan, -np.inf, np.nan], [-np.inf, -np.inf, 0, 0])])
def test_the_extremes_leave_nan_out(values, wanted):
    out = np.zeros(4, np.float32)
    extreme_kernel[(1,)](np.array(values, np.float32), out, N=4)
    np.testing.assert_array_equal(out, np.array(wanted, np.float32))


def test_a_long_line(engine):
    """The size of the code does not depend on the line's length."""
    if engine == "cuda":
        pytest.skip("no shared memory holds such a tile")
    with triton.engine("cpu"):
        x = random((1, 1 << 18), "fp32", 4)
        np.testing.assert_array_equal(run(x, 1 << 18, True), expected(x, 1 << 18, True))
        np.testing.assert_array_equal(run(x, 1 << 12, False), expected(x, 1 << 12, False))
