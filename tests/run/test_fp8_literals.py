"""8-bit floats: literals are what the same numbers become when they are converted at run time (nearest, saturated, NaN only of NaN), and
functions are those of f32."""

import math

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

NUMBERS = (0.0, -0.0, 1.0, 0.1, -0.3, 1.0625, 1.06250001, 1.75, 1.8, 15.5, 240.0, 248.0, 448.0, 464.0, 465.0, -465.0, 480.0, 57344.0, 61440.0, 70000.0,
           -1e6, 1e30, 1e300, -1e300, 2.0**-9, 2.0**-10, 1.5 * 2.0**-10, 2.0**-17, 2.0**-18, 1e-30, 465, -70000, 1, 2**40, True, math.inf, -math.inf, math.nan)
NAMES = {"float8e4nv": "float8_e4m3fn", "float8e5": "float8_e5m2", "float8e4b8": "float8_e4m3fnuz", "float8e5b16": "float8_e5m2fnuz"}


@triton.jit
def literals_kernel(x_ptr, y_ptr, out_ptr, NUMBERS: tl.constexpr, WIDE: tl.constexpr, COUNT: tl.constexpr):
    dtype: tl.constexpr = out_ptr.dtype.element_ty
    i = tl.arange(0, 2)
    for j in tl.static_range(COUNT):
        at = out_ptr + 12 * j
        tl.store(at + i, tl.load((y_ptr if WIDE[j] else x_ptr) + j + 0 * i).to(dtype))
        tl.store(at + 2 + i, tl.full((2,), NUMBERS[j], dtype))
        tl.store(at + 4 + i, NUMBERS[j])
        tl.store(at + 6, NUMBERS[j])
        tl.store(at + 7, tl.cast(NUMBERS[j], dtype))
        tl.store(at + 8 + i, tl.where(i >= 0, NUMBERS[j], tl.zeros((2,), dtype)))
        tl.store(at + 10 + i, tl.load(at + i, mask=i > 5, other=NUMBERS[j]))


@pytest.mark.parametrize("dtype", ["float8e4nv", "float8e5", "float8e4b8", "float8e4b15", "float8e5b16"])
def test_literals_convert_as_numbers_at_run_time_do(dtype):
    count = len(NUMBERS)
    with np.errstate(over="ignore"):
        x = np.array(NUMBERS, np.float64).astype(np.float32)
    out = np.full((count, 12), 0x55, np.uint8)
    wide = tuple(isinstance(number, float) and 1e39 < abs(number) < math.inf for number in NUMBERS)  # literals that only fp64 holds
    literals_kernel[(1,)](x, np.array(NUMBERS, np.float64), triton.reinterpret(out, getattr(tl, dtype)), NUMBERS=NUMBERS, WIDE=wide, COUNT=count)
    for number, row in zip(NUMBERS, out):
        assert len(set(row.tolist())) == 1, (number, row)


@triton.jit
def arithmetic_kernel(x_ptr, out_ptr, N: tl.constexpr):
    dtype: tl.constexpr = out_ptr.dtype.element_ty
    i = tl.arange(0, N)
    known = tl.full((N,), 200.0, dtype)
    given = tl.load(x_ptr + i)
    tl.store(out_ptr + i, known + known)
    tl.store(out_ptr + N + i, given + given)
    tl.store(out_ptr + 2 * N + i, known * known)
    tl.store(out_ptr + 3 * N + i, given * given)
    tl.store(out_ptr + 4 * N + i, known.to(tl.float32).to(dtype))
    tl.store(out_ptr + 5 * N + i, given.to(tl.float32).to(dtype))
    tl.store(out_ptr + 6 * N + i, -known - known)
    tl.store(out_ptr + 7 * N + i, -given - given)


@pytest.mark.parametrize("dtype", ["float8e4nv", "float8e5", "float8e4b8", "float8e5b16"])
def test_arithmetic_of_constants_is_that_of_numbers_at_run_time(dtype):
    import ml_dtypes
    x = np.full(4, 200.0).astype(getattr(ml_dtypes, NAMES[dtype])).view(np.uint8)
    out = np.full((4, 2, 4), 0x55, np.uint8)
    arithmetic_kernel[(1,)](triton.reinterpret(x, getattr(tl, dtype)), triton.reinterpret(out, getattr(tl, dtype)), N=4)
    np.testing.assert_array_equal(out[:, 0], out[:, 1])


@triton.jit
def functions_kernel(x_ptr, y_ptr, magnitude_ptr, rest_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(magnitude_ptr + i, tl.abs(x))
    tl.store(rest_ptr + i, x % tl.load(y_ptr + i))


@pytest.mark.parametrize("dtype", ["float8e4nv", "float8e5", "float8e4b8", "float8e5b16"])
def test_magnitudes_and_remainders(dtype):
    """Of all numbers. In formats with a single zero, the sign of zero is NaN: its magnitude is NaN, too."""
    import ml_dtypes
    numbers = getattr(ml_dtypes, NAMES[dtype])
    x = np.arange(256, dtype=np.uint8)
    y = np.random.default_rng(1).permutation(x)
    out = np.full((2, 256), 0x55, np.uint8)
    functions_kernel[(1,)](*(triton.reinterpret(each, getattr(tl, dtype)) for each in (x, y, out[0], out[1])), N=256)
    with np.errstate(invalid="ignore"):
        wide = x.view(numbers).astype(np.float32)
        expected = np.abs(wide), np.fmod(wide, y.view(numbers).astype(np.float32))
    for found, wanted in zip(out, expected):
        np.testing.assert_array_equal(found.view(numbers).astype(np.float32), wanted)
