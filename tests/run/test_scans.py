"""Scans: cumulative sums and products, forwards and backwards, along either axis, and with the user's combination."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, close, random, wide


@triton.jit
def scan_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr, OP: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    if OP == "cumsum":
        y = tl.cumsum(x, axis=AXIS, reverse=REVERSE)
    else:
        y = tl.cumprod(x, axis=AXIS, reverse=REVERSE)
    tl.store(out_ptr + at, y)


@triton.jit
def wide_cumprod_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.cumprod(x, dtype=tl.int64))


def test_cumprod_in_a_wider_type():
    x, out = np.full(16, 10, np.int8), np.zeros(16, np.int64)
    wide_cumprod_kernel[(1,)](x, out, BLOCK=16)
    np.testing.assert_array_equal(out, 10**np.arange(1, 17))


@triton.jit
def cumprod_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BLOCK), tl.cumprod(x))


@pytest.mark.parametrize("dtype, base", [("int8", -10), ("uint8", 10), ("int16", -10), ("uint16", 10)])
def test_cumprod_of_narrow_integers(dtype, base):
    x, out = np.full(8, base, dtype), np.zeros(8, np.int64)
    cumprod_kernel[(1,)](x, out, BLOCK=8)
    np.testing.assert_array_equal(out, np.cumprod(x.astype(np.int64)))


@pytest.mark.parametrize("op", ["cumsum", "cumprod"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape, dtype", [((1, 64), "fp32"), ((8, 4), "fp32"), ((16, 32), "fp64"), ((32, 16), "int32")])
def test_cumsum_and_cumprod(shape, dtype, axis, reverse, op):
    x = random(shape, dtype, 1, 0.8, 1.2) if dtype != "int32" else random(shape, dtype, 1, -3, 4)
    out = np.zeros_like(x)
    scan_kernel[(1,)](x, out, M=shape[0], N=shape[1], AXIS=axis, REVERSE=reverse, OP=op)
    values = np.flip(wide(x), axis) if reverse else wide(x)
    expected = getattr(np, op)(values, axis=axis)
    close(out, (np.flip(expected, axis) if reverse else expected).astype(DTYPES[dtype] if dtype == "int32" else np.float64), dtype,
          terms=shape[axis])


@triton.jit
def linear_step(a, x, b, y):
    # (a, x) then (b, y): h -> a h + x, and then h -> b h + y
    return a * b, x * b + y


@triton.jit
def recurrence_kernel(a_ptr, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask, other=1.0)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    _, h = tl.associative_scan((a, x), 0, linear_step)
    tl.store(out_ptr + offsets, h, mask=mask)


def test_a_linear_recurrence():
    a, x = random(100, "fp32", 1, 0.1, 0.9), random(100, "fp32", 2)
    out = np.zeros(100, np.float32)
    recurrence_kernel[(1,)](a, x, out, 100, BLOCK=128)
    expected, h = np.zeros(100), 0.0
    for i in range(100):
        h = float(a[i]) * h + float(x[i])
        expected[i] = h
    close(out, expected, "fp32", terms=10)


@triton.jit
def keep_max(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_max_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.associative_scan(tl.load(x_ptr + offsets), 0, keep_max, reverse=True))


def test_a_running_maximum_backwards():
    x = random(256, "int32", 1)
    out = np.zeros_like(x)
    running_max_kernel[(1,)](x, out, BLOCK=256)
    np.testing.assert_array_equal(out, np.maximum.accumulate(x[::-1])[::-1])
