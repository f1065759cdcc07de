"""Errors of f32 functions in units in the last place, for bit patterns of all magnitudes, and results for special arguments."""

import math
import os

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl
from checks import ON_GPU, documented_errors
from test_libdevice import ONE, TWO, one_kernel, two_kernel

SHIFTED = os.environ.get("TILEWRIGHT_SIMULATE_ERRORS", "none") != "none"
BOUNDS = {name: float(worst if SHIFTED else usual) for name, usual, worst in documented_errors("elementary function")}
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 2.5, 8.0, 1000.0, 3.4028235e38, -3.4028235e38,
           1e-45, -1e-45, 1.1754942e-38, 1.17549435e-38, 88.72284, 88.7229, 89.4, 89.5, -17.3, -87.4, -103.0, -104.5, 105615.0, -105616.0, 1e10,
           0.99999994, 1.0000001, -0.99999994, 10.05, 10.2, 16777215.0, -16777216.0, 8388607.5]
N = 8192


def near(actual, expected, bound, arguments):
    """Equal NaN, infinities and signs of zeros; a bounded error of other results. At overflow, both results are right."""
    rounded = expected.astype(np.float32)
    exponent = np.maximum(np.frexp(np.where(np.isfinite(expected), expected, 1))[1] - 24, -149)
    overflows = np.isinf(actual) | np.isinf(rounded)
    with np.errstate(all="ignore"):
        right = np.abs(actual - expected) <= bound * np.ldexp(1.0, exponent)
        right = np.where(overflows, (np.abs(expected) >= 3.40282e38) & (np.signbit(actual) == np.signbit(expected)), right)
    right &= (rounded != 0) | (actual != 0) | (np.signbit(actual) == np.signbit(rounded))
    right |= np.isnan(actual) & np.isnan(expected)
    wrong = np.flatnonzero(~right)[:5]
    assert wrong.size == 0, [(*(float(x[i]) for x in arguments), float(actual[i]), float(expected[i])) for i in wrong]


def patterns(seed):
    """Every 2^19th bit pattern, from an offset, and as many of ordinary numbers."""
    x = (np.arange(N, dtype=np.uint64) * 2**19 + seed * 54321).astype(np.uint32)
    x[1::2] = np.float32(np.random.default_rng(seed).normal(0, 4, N // 2)).view(np.uint32)
    return x.view(np.float32).copy()


@pytest.mark.parametrize("name", [name for name in BOUNDS if name in ONE])
def test_one_argument(name, engine):
    x = patterns(1)
    x[: len(SPECIAL)] = SPECIAL
    out = np.zeros_like(x)
    one_kernel[(1,)](x, out, N=N, NAME=name)
    with np.errstate(all="ignore"):
        near(out, np.asarray(ONE[name](x.astype(np.float64))), BOUNDS[name] if engine in ON_GPU else 4, [x])


@pytest.mark.parametrize("name", [name for name in BOUNDS if name in TWO])
def test_two_arguments(name, engine):
    x, y = patterns(2), np.roll(patterns(3), 12345)
    with np.errstate(all="ignore"):
        # powers of all magnitudes
        x[2::4] = np.abs(x[2::4])
        y[2::4] = np.linspace(-140, 120, N // 4) / np.log2(x[2::4])
    special = np.array(SPECIAL, np.float32)
    x[: special.size**2], y[: special.size**2] = np.repeat(special, special.size), np.tile(special, special.size)
    out = np.zeros_like(x)
    two_kernel[(1,)](x, y, out, N=N, NAME=name)
    with np.errstate(all="ignore"):
        near(out, TWO[name](x.astype(np.float64), y.astype(np.float64)), BOUNDS[name] if engine in ON_GPU else 4, [x, y])


@triton.jit
def computed_arguments(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.exp(x - 16.0))
    tl.store(out_ptr + N + i, tl.exp(tl.where(x > 0, 80.0, x + 1.0)))


@pytest.mark.parametrize("numerics", ["3.9", "strict"])
def test_exponentials_of_computed_arguments(numerics, engine):
    """These sums are exact. Unless numerics are strict, they count as rounded: then the error grows with the argument."""
    x, out = np.arange(-64, 64).astype(np.float32), np.zeros((2, 128), np.float32)
    computed_arguments[(1,)](x, out, N=128, numerics=numerics)
    arguments = np.stack([x - 16.0, np.where(x > 0, 80.0, x + 1.0)]).astype(np.float64)
    bound = (BOUNDS["exp"] if engine in ON_GPU else 4) + (1.25 * np.abs(arguments) if numerics != "strict" else 0)
    near(out.ravel(), np.exp(arguments).ravel(), np.ravel(bound + 0 * arguments), [arguments.ravel()])
