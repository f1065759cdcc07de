"""Floats to integers: toward zero, the nearest integer of the type where the number lies outside of it, and 0 for NaN. From every float type to
every integer type, at the limits of all integer types and one step next to them."""

import math

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import INTEGERS

SOURCES = {
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2, "fp8e4b8": ml_dtypes.float8_e4m3fnuz, "fp8e5b16": ml_dtypes.float8_e5m2fnuz,
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64,
}


def argument(name, values):
    if name.startswith("fp8"):
        return triton.reinterpret(values.view(np.uint8), getattr(tl, name.replace("fp8", "float8")))
    return values


def special(name):
    """All numbers of an 8-bit type; of the others those that decide, and -0.5, infinities and NaN."""
    dtype = np.dtype(SOURCES[name])
    if dtype.itemsize == 1:
        return np.arange(256).astype(np.uint8).view(dtype)
    limits = [sign * 2.0**bits for bits in (0, 7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]
    with np.errstate(over="ignore", invalid="ignore"):
        exact = np.array(limits + [x - math.copysign(y, x) for x in limits for y in (0.5, 1)], dtype)
    step = np.concatenate([exact.view(f"i{dtype.itemsize}") + d for d in (-1, 0, 1)]).view(dtype)
    rest = np.array([0.0, -0.0, 0.5, -0.5, 100.7, -100.7, 3e9, -3e9, 6e4, 1e19, -1e19, math.inf, -math.inf, math.nan, -math.nan], np.float64)
    with np.errstate(over="ignore"):
        rest = rest.astype(dtype)
    values = np.concatenate([step, rest])
    return np.concatenate([values, np.zeros(256 - len(values), dtype)])


def expected(values, dtype):
    limits = np.iinfo(dtype)

    def one(x):
        if math.isnan(x):
            return 0
        return limits.max if x >= limits.max else limits.min if x <= limits.min else math.trunc(x)

    return np.array([one(float(x)) for x in values], dtype)


@triton.jit
def convert_kernel(x_ptr, o0, o1, o2, o3, o4, o5, o6, o7, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N) if N > 1 else tl.program_id(0)
    x = tl.load(x_ptr + i)
    for out in tl.static_range(8):
        pointer = (o0, o1, o2, o3, o4, o5, o6, o7)[out]
        tl.store(pointer + i, x.to(pointer.dtype.element_ty))


@pytest.mark.parametrize("size", [256, 1], ids=["tile", "scalar"])
@pytest.mark.parametrize("source", SOURCES)
def test_every_pair_of_types(source, size):
    values = special(source)
    outs = [np.full(256, 77, dtype) for dtype in INTEGERS]
    convert_kernel[(256 // size,)](argument(source, values), *outs, N=size)
    for out in outs:
        np.testing.assert_array_equal(out, expected(values, out.dtype), err_msg=str(out.dtype))


NUMBERS = (0.0, -0.5, 1.0, -1.0, 127.9, 128.0, -129.0, 255.5, 256.0, 300.7, 65536.0, 2147483648.0, 3e9, -3e9, 2.0**63, -(2.0**64), 2.0**65, math.inf, -math.inf, math.nan)


@triton.jit
def constants_kernel(out_ptr, NUMBERS: tl.constexpr, COUNT: tl.constexpr):
    dtype: tl.constexpr = out_ptr.dtype.element_ty
    for j in tl.static_range(COUNT):
        tl.store(out_ptr + 4 * j + tl.arange(0, 1), tl.full((1,), NUMBERS[j], tl.float32).to(dtype))
        tl.store(out_ptr + 4 * j + 1, tl.cast(NUMBERS[j], dtype))
        tl.store(out_ptr + 4 * j + 2 + tl.arange(0, 1), tl.full((1,), NUMBERS[j], dtype))
        tl.store(out_ptr + 4 * j + 3, NUMBERS[j])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_constants_convert_as_numbers_at_run_time_do(dtype):
    out = np.full((len(NUMBERS), 4), 77, dtype)
    constants_kernel[(1,)](out, NUMBERS=NUMBERS, COUNT=len(NUMBERS))
    wanted = expected(np.float32(NUMBERS), out.dtype)
    np.testing.assert_array_equal(out, np.repeat(wanted[:, None], 4, 1))


@triton.jit
def bounded_kernel(x_ptr, small_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.clamp(x, -128.0, 127.0).to(tl.int8))
    tl.store(out_ptr + N + i, tl.maximum(tl.minimum(x, 127.9), -128.5).to(tl.int8))
    tl.store(out_ptr + 2 * N + i, tl.minimum(tl.maximum(x, -3e38, propagate_nan=tl.PropagateNan.ALL), 127.0, propagate_nan=tl.PropagateNan.ALL).to(tl.int8))
    tl.store(out_ptr + 3 * N + i, tl.load(small_ptr + i).to(tl.float32).to(tl.int8))
    tl.store(out_ptr + 4 * N + i, tl.abs(x).to(tl.int8))
    tl.store(out_ptr + 5 * N + i, tl.where(x > 0, 5.7, -7.9).to(tl.int8))


def test_where_the_operations_before_bound_a_number():
    x = special("fp32")
    small = np.arange(-128, 128).astype(np.int8)
    out = np.full((6, 256), 77, np.int8)
    bounded_kernel[(1,)](x, small, out, N=256)
    number = np.where(np.isnan(x), -128, x)  # a clamp takes the lower bound for NaN
    np.testing.assert_array_equal(out[0], expected(number, np.int8))
    np.testing.assert_array_equal(out[1], expected(np.where(np.isnan(x), 127, x), np.int8))
    np.testing.assert_array_equal(out[2], expected(x, np.int8))
    np.testing.assert_array_equal(out[3], small)
    np.testing.assert_array_equal(out[4], expected(np.abs(x), np.int8))
    np.testing.assert_array_equal(out[5], np.where(x > 0, 5, -7))
