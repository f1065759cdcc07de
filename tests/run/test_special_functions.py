"""libdevice's special functions against mpmath, within the errors that docs/libdevice.md states."""

import mpmath
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, documented_errors
from tilewright.language.extra import libdevice

mpmath.mp.dps = 40
BOUNDS = {name: ({"fp32": float(single), "fp64": float(double)}, unit) for name, single, double, unit in documented_errors("special function")}


def inverse_of_erfc(z):
    if z > mpmath.mpf("0.1"):
        return mpmath.erfinv(1 - z)
    return mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y)) - mpmath.log(z), mpmath.sqrt(-mpmath.log(z)))


def length(*x):
    return mpmath.sqrt(mpmath.fsum(value**2 for value in x))


def tiny(low, high):
    """Numbers of many magnitudes."""
    return lambda rng, n: 10.0 ** rng.uniform(low, high, n)


def uniform(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


def whole(low, high):
    return lambda rng, n: rng.integers(low, high, n)


# (function, a list for each argument: parts of equal length from which its values are drawn)
REFERENCES = {
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [[uniform(-5, 20), tiny(-8, 8)]]),
    "erfinv": (mpmath.erfinv, [[uniform(-1, 1), tiny(-20, -1)]]),
    "erfcinv": (inverse_of_erfc, [[uniform(0.001, 1.999), tiny(-30, -1)]]),
    "normcdf": (mpmath.ncdf, [[uniform(-12, 6), uniform(-1, 1)]]),
    "normcdfinv": (lambda p: -mpmath.sqrt(2) * inverse_of_erfc(2 * p), [[uniform(0.001, 0.999), tiny(-30, -1)]]),
    "lgamma": (lambda x: mpmath.log(abs(mpmath.gamma(x))), [[uniform(0, 4), uniform(0, 40), uniform(-30, 0), tiny(-20, 4)]]),
    "tgamma": (mpmath.gamma, [[uniform(0, 4), uniform(0, 34), uniform(-20, 0), tiny(-20, 0)]]),
    "sinpi": (mpmath.sinpi, [[uniform(-2, 2), uniform(-1000, 1000)]]),
    "cospi": (mpmath.cospi, [[uniform(-2, 2), uniform(-1000, 1000)]]),
    "exp10": (lambda x: mpmath.power(10, x), [[uniform(-37, 38), uniform(-1, 1)]]),
    "rcbrt": (lambda x: mpmath.sign(x) / mpmath.cbrt(abs(x)), [[uniform(-10, 10), tiny(-30, 30)]]),
    "j0": (lambda x: mpmath.besselj(0, x), [[uniform(-8, 8), uniform(-100, 100)]]),
    "j1": (lambda x: mpmath.besselj(1, x), [[uniform(-8, 8), uniform(-100, 100)]]),
    "y0": (lambda x: mpmath.bessely(0, x), [[uniform(0, 8), uniform(0, 100)]]),
    "y1": (lambda x: mpmath.bessely(1, x), [[uniform(0, 8), uniform(0, 100)]]),
    "jn": (lambda n, x: mpmath.besselj(int(n), x), [[whole(0, 20)], [uniform(-30, 30), uniform(0, 5)]]),
    "yn": (lambda n, x: mpmath.bessely(int(n), x), [[whole(0, 10)], [uniform(0, 8), uniform(0, 100)]]),
    "cyl_bessel_i0": (lambda x: mpmath.besseli(0, x), [[uniform(-10, 10), uniform(-80, 80)]]),
    "cyl_bessel_i1": (lambda x: mpmath.besseli(1, x), [[uniform(-10, 10), uniform(-80, 80)]]),
    "norm3d": (length, [[tiny(-10, 10)]] * 3),
    "norm4d": (length, [[tiny(-10, 10)]] * 4),
    "rnorm3d": (lambda *x: 1 / length(*x), [[tiny(-10, 10)]] * 3),
    "rnorm4d": (lambda *x: 1 / length(*x), [[tiny(-10, 10)]] * 4),
    "rnorm4d": (lambda *x: 1 / length(*x), [[tiny(-10, 10)]] * 4),
    "rhypot": (lambda *x: 1 / length(*x), [[tiny(-10, 10)]] * 2),
}


@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, d_ptr, out_ptr, N: tl.constexpr, COUNT: tl.constexpr, NAME: tl.constexpr):
    at = tl.arange(0, N)
    a, b, c, d = tl.load(a_ptr + at), tl.load(b_ptr + at), tl.load(c_ptr + at), tl.load(d_ptr + at)
    if COUNT == 1:
        result = getattr(libdevice, NAME)(a)
    elif COUNT == 2:
        result = getattr(libdevice, NAME)(a, b)
    elif COUNT == 3:
        result = getattr(libdevice, NAME)(a, b, c)
    else:
        result = getattr(libdevice, NAME)(a, b, c, d)
    tl.store(out_ptr + at, result)


def call(name, arguments, dtype):
    out = np.zeros(len(arguments[0]), DTYPES[dtype])
    padded = arguments + [arguments[-1]] * (4 - len(arguments))
    kernel[(1,)](*padded, out, N=out.size, COUNT=len(arguments), NAME=name)
    return out


def drawn(parts, n, dtype, seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([part(rng, n // len(parts)) for part in parts])
    return values.astype(np.int32 if values.dtype.kind == "i" else DTYPES[dtype])


def error(actual, exact, dtype, unit):
    """The error in units in the last place."""
    size = abs(exact) if unit == "result" else max(abs(exact), 1)
    spacing = mpmath.mpf(float(np.spacing(np.asarray(float(size), DTYPES[dtype]))))
    return float(abs(mpmath.mpf(float(actual)) - exact) / spacing)


def test_the_document_and_the_references_have_the_same_functions():
    assert BOUNDS.keys() == REFERENCES.keys()


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("name", REFERENCES)
def test_errors(name, dtype, engine):
    reference, parts = REFERENCES[name]
    allowed, unit = BOUNDS[name]
    n = 256 if engine == "cpu" else 64
    arguments = [drawn(part, n, dtype, seed) for seed, part in enumerate(parts)]
    out = call(name, arguments, dtype)
    errors = []
    for actual, *given in zip(out, *arguments):
        exact = reference(*(mpmath.mpf(float(value)) for value in given))
        if abs(exact) > float(np.finfo(DTYPES[dtype]).max):
            assert np.isinf(actual), given
        else:
            errors.append((error(actual, exact, dtype, unit), given, actual, float(exact)))
    assert max(errors)[0] <= allowed[dtype], max(errors)


INFINITY, NAN = np.inf, np.nan
SPECIAL = {
    "erfcx": [(0, 1), (INFINITY, 0), (-INFINITY, INFINITY), (NAN, NAN)],
    "erfinv": [(0, 0), (-0.0, -0.0), (1, INFINITY), (-1, -INFINITY), (1.5, NAN), (NAN, NAN)],
    "erfcinv": [(1, 0), (0, INFINITY), (2, -INFINITY), (-0.5, NAN), (2.5, NAN), (NAN, NAN)],
    "normcdf": [(0, 0.5), (INFINITY, 1), (-INFINITY, 0), (NAN, NAN)],
    "normcdfinv": [(0.5, 0), (0, -INFINITY), (1, INFINITY), (-0.5, NAN), (NAN, NAN)],
    "lgamma": [(1, 0), (2, 0), (0, INFINITY), (-1, INFINITY), (INFINITY, INFINITY), (-INFINITY, INFINITY), (NAN, NAN)],
    "tgamma": [(1, 1), (5, 24), (0, INFINITY), (-0.0, -INFINITY), (-2, NAN), (INFINITY, INFINITY), (-INFINITY, NAN), (200, INFINITY), (NAN, NAN)],
    "sinpi": [(0, 0), (-0.0, -0.0), (1, 0), (0.5, 1), (1.5, -1), (1e30, 0), (INFINITY, NAN), (NAN, NAN)],
    "cospi": [(0, 1), (1, -1), (0.5, 0), (1e30, 1), (INFINITY, NAN), (NAN, NAN)],
    "exp10": [(0, 1), (2, 100), (-INFINITY, 0), (INFINITY, INFINITY), (1000, INFINITY), (-1000, 0), (NAN, NAN)],
    "rcbrt": [(8, 0.5), (0, INFINITY), (-0.0, -INFINITY), (INFINITY, 0), (NAN, NAN)],
    "j0": [(0, 1), (INFINITY, 0), (NAN, NAN)],
    "j1": [(0, 0), (INFINITY, 0), (NAN, NAN)],
    "y0": [(0, -INFINITY), (-1, NAN), (INFINITY, 0), (NAN, NAN)],
    "y1": [(0, -INFINITY), (-1, NAN), (INFINITY, 0), (NAN, NAN)],
    "cyl_bessel_i0": [(0, 1), (INFINITY, INFINITY), (-INFINITY, INFINITY), (NAN, NAN)],
    "cyl_bessel_i1": [(0, 0), (INFINITY, INFINITY), (-INFINITY, -INFINITY), (NAN, NAN)],
}


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_arguments(name, dtype):
    rows = np.array((SPECIAL[name] * 16)[:16], DTYPES[dtype])
    out = call(name, [np.ascontiguousarray(rows[:, 0])], dtype)
    expected = rows[:, 1]
    np.testing.assert_allclose(out, expected, rtol=2 * np.finfo(expected.dtype).eps, atol=0)
    np.testing.assert_array_equal(np.signbit(out[expected == 0]), np.signbit(expected[expected == 0]))


@triton.jit
def scalar_kernel(x_ptr, out_ptr, n):
    x = tl.load(x_ptr)
    tl.store(out_ptr, libdevice.erfinv(x) + libdevice.lgamma(x) + libdevice.jn(n, x) + libdevice.tgamma(x))


def test_scalars():
    x, out = np.array([0.5]), np.zeros(1)
    scalar_kernel[(1,)](x, out, 3)
    expected = mpmath.erfinv(0.5) + mpmath.loggamma(0.5) + mpmath.besselj(3, 0.5) + mpmath.gamma(0.5)
    assert abs(out[0] - float(expected)) < 1e-14
