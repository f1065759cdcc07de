"""Functions that only libdevice has, on ordinary, huge and special arguments."""

import math

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, TOLERANCE, wide
from tilewright.language.extra import libdevice

ONE = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc), "cbrt": np.cbrt, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "rint": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
}
TWO = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod}


@triton.jit
def one_kernel(x_ptr, out_ptr, N: tl.constexpr, NAME: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, getattr(libdevice, NAME)(tl.load(x_ptr + at)))


@triton.jit
def two_kernel(x_ptr, y_ptr, out_ptr, N: tl.constexpr, NAME: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, getattr(libdevice, NAME)(tl.load(x_ptr + at), tl.load(y_ptr + at)))


def arguments(dtype, seed):
    rng = np.random.default_rng(seed)
    largest = 1e30 if dtype == "fp32" else 1e300
    special = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.0, np.inf, -np.inf, np.nan, largest, -largest, 1 / largest]
    ordinary = np.concatenate([rng.uniform(-1, 1, 100), rng.uniform(-20, 20, 100), np.geomspace(1e-8, 1e8, 256 - 200 - len(special))])
    return np.concatenate([special, ordinary]).astype(DTYPES[dtype])


def agree(actual, expected, dtype):
    """Asserts equality within a few units in the last place, and exactly for NaN, infinities and the sign of zero."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(DTYPES[dtype])
    special = ~np.isfinite(rounded) | (rounded == 0)
    np.testing.assert_array_equal(actual[special], rounded[special])
    zero = rounded == 0
    np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(rounded[zero]))
    tiny = float(np.finfo(DTYPES[dtype]).smallest_subnormal)
    np.testing.assert_allclose(wide(actual[~special]), wide(rounded[~special]), rtol=TOLERANCE[dtype], atol=2 * tiny)


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("name", ONE)
def test_functions(name, dtype):
    x = arguments(dtype, 1)
    out = np.zeros_like(x)
    one_kernel[(1,)](x, out, N=256, NAME=name)
    with np.errstate(all="ignore"):
        agree(out, ONE[name](wide(x)), dtype)


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name, dtype):
    x, y = arguments(dtype, 1), np.roll(arguments(dtype, 2), 5)
    y[100:] = np.abs(y[100:]) * (-1) ** np.arange(156)
    out = np.zeros_like(x)
    two_kernel[(1,)](x, y, out, N=256, NAME=name)
    with np.errstate(all="ignore"):
        agree(out, TWO[name](wide(x), wide(y)), dtype)


EXACT = {"rint": lambda x, y: np.rint(x), "floor": lambda x, y: np.floor(x), "copysign": np.copysign, "nextafter": np.nextafter, "fmod": np.fmod,
         "remainder": np.vectorize(lambda x, y: math.remainder(x, y) if y and math.isfinite(x) and y == y else math.nan)}


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("name", EXACT)
def test_exact_for_all_bits(name, dtype):
    """Numbers of all magnitudes: quotients beyond the largest number, and subnormal divisors."""
    rng, real = np.random.default_rng(3), DTYPES[dtype]
    words = np.dtype(f"u{real().itemsize}")
    x, y = (rng.integers(0, np.iinfo(words).max, 256, words, endpoint=True) for _ in range(2))
    y[:80] >>= words.type(10 + np.arange(80) % (8 * words.itemsize - 10))
    x[60:90] >>= words.type(12)
    x, y = x.view(real), y.view(real)
    out = np.zeros_like(x)
    if name in ONE:
        one_kernel[(1,)](x, out, N=256, NAME=name)
    else:
        two_kernel[(1,)](x, y, out, N=256, NAME=name)
    with np.errstate(all="ignore"):
        expected = EXACT[name](x, y).astype(real)
    np.testing.assert_array_equal(out, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(out[zero]), np.signbit(expected[zero]))
