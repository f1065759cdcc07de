"""libdevice's functions without rounding, or with a named rounding, against exact arithmetic: bits, integers, conversions, sums and products."""

import fractions
import math

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES
from tilewright.language.extra import libdevice

N = 256
ROUNDINGS = ["rn", "rz", "rd", "ru"]
BITS = {"fp32": np.uint32, "fp64": np.uint64}
Exact = fractions.Fraction


@triton.jit
def kernel(x_ptr, y_ptr, z_ptr, out_ptr, N: tl.constexpr, COUNT: tl.constexpr, NAME: tl.constexpr):
    at = tl.arange(0, N)
    x, y, z = tl.load(x_ptr + at), tl.load(y_ptr + at), tl.load(z_ptr + at)
    if COUNT == 1:
        result = getattr(libdevice, NAME)(x)
    elif COUNT == 2:
        result = getattr(libdevice, NAME)(x, y)
    else:
        result = getattr(libdevice, NAME)(x, y, z)
    tl.store(out_ptr + at, result)


def call(name, arguments, dtype):
    out = np.zeros(N, dtype)
    kernel[(1,)](*(arguments + [arguments[0]] * (3 - len(arguments))), out, N=N, COUNT=len(arguments), NAME=name)
    return out


def check(name, arguments, expected, dtype):
    expected = np.array(expected, dtype=object).astype(dtype) if isinstance(expected, list) else expected.astype(dtype)
    np.testing.assert_array_equal(call(name, arguments, dtype), expected)


def each(function, *arrays):
    return [function(*(value.item() for value in values)) for values in zip(*arrays)]


def floats(dtype, seed, special=True):
    """Ordinary numbers, random bits, and special values."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, np.iinfo(BITS[dtype]).max, N, dtype=BITS[dtype]).view(DTYPES[dtype]).copy()
    x[: N // 2] = rng.standard_normal(N // 2) * np.exp2(rng.integers(-40, 40, N // 2))
    info = np.finfo(DTYPES[dtype])
    if special:
        x[:16] = [0, -0.0, np.inf, -np.inf, np.nan, 1, 0.5, -0.5, 1.5, 2.5, -2.5, info.max, info.smallest_subnormal, 2.0**31, 2.0**63, -(2.0**63)]
    else:
        x[~np.isfinite(x)] = 1.5
        x[x == 0] = 1.25
    return x


def integers(dtype, seed):
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True) >> rng.integers(0, info.bits, N, dtype=dtype)
    x[:6] = [0, 1, info.max, info.min, 2, 3]
    return x


# ---- bits and exponents


@pytest.mark.parametrize("dtype", BITS)
def test_bits(dtype):
    x, y = floats(dtype, 1), np.roll(floats(dtype, 2), 7)
    check("isnan", [x], np.isnan(x), np.int32)
    check("isinf", [x], np.isinf(x), np.int32)
    check("signbit", [x], np.signbit(x), np.int32)
    check("finitef" if dtype == "fp32" else "isfinited", [x], np.isfinite(x), np.int32)
    check("copysign", [x, y], np.copysign(x, y), DTYPES[dtype])
    check("nextafter", [x, y], np.nextafter(x, y), DTYPES[dtype])


def test_bit_casts():
    x, y = floats("fp32", 1), floats("fp64", 2)
    check("float_as_int", [x], x.view(np.int32), np.int32)
    check("int_as_float", [x.view(np.int32)], x, np.float32)
    check("double_as_longlong", [y], y.view(np.int64), np.int64)
    check("longlong_as_double", [y.view(np.int64)], y, np.float64)
    halves = np.ascontiguousarray(y.view(np.int32).reshape(N, 2).T)
    check("double2loint", [y], halves[0], np.int32)
    check("double2hiint", [y], halves[1], np.int32)
    check("hiloint2double", [halves[1].copy(), halves[0].copy()], y, np.float64)


@pytest.mark.parametrize("dtype", BITS)
def test_exponents(dtype):
    x, n = floats(dtype, 3), np.random.default_rng(4).integers(-400, 400, N).astype(np.int32)
    n[16:20] = 5000, -5000, 2**31 - 1, -(2**31)
    with np.errstate(all="ignore"):
        check("ldexp", [x, n], np.ldexp(x, n), DTYPES[dtype])
        check("scalbn", [x, n], np.ldexp(x, n), DTYPES[dtype])
    exponent = np.frexp(x)[1] - 1
    special = [np.isnan(x), np.isinf(x), x == 0]
    check("ilogb", [x], np.select(special, [-(2**31), 2**31 - 1, -(2**31)], exponent), np.int32)
    check("logb", [x], np.select(special, [np.nan, np.inf, -np.inf], exponent.astype(np.float64)), DTYPES[dtype])


@pytest.mark.parametrize("dtype", BITS)
def test_differences_and_remainders(dtype):
    x, y = floats(dtype, 5), np.roll(floats(dtype, 6), 3)
    x[100:], y[100:] = np.round(x[100:] % 1000) / 2, 1 + np.arange(N - 100) % 9
    with np.errstate(all="ignore"):
        check("fdim", [x, y], np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x - y, 0)), DTYPES[dtype])
        invalid = np.isnan(x) | np.isnan(y) | np.isinf(x) | (y == 0)
    check("remainder", [x, y], [math.nan if bad else math.remainder(a, b) for a, b, bad in zip(x.tolist(), y.tolist(), invalid)], DTYPES[dtype])


def test_saturation():
    x = floats("fp32", 7)
    check("saturatef", [x], np.where(np.isnan(x), 0, np.clip(x, 0, 1)), np.float32)


# ---- integers


def wrapped(value, dtype):
    bits = np.iinfo(dtype).bits
    value %= 1 << bits
    return value - (1 << bits) if np.iinfo(dtype).min < 0 and value >> (bits - 1) else value


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_counts(dtype):
    x = integers(dtype, 1)
    bits, every = np.iinfo(dtype).bits, (1 << np.iinfo(dtype).bits) - 1
    check("popc", [x], each(lambda a: (a & every).bit_count(), x), np.int32)
    check("clz", [x], each(lambda a: bits - (a & every).bit_length(), x), np.int32)
    check("ffs", [x], each(lambda a: (a & -a).bit_length(), x), np.int32)
    check("brev", [x], each(lambda a: wrapped(int(f"{a & every:0{bits}b}"[::-1], 2), dtype), x), dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_multiplication(dtype):
    x, y = integers(dtype, 2), integers(dtype, 3)[::-1].copy()
    check("mulhi", [x, y], each(lambda a, b: (a * b) >> np.iinfo(dtype).bits, x, y), dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_short_integers(dtype):
    x, y, z = integers(dtype, 4), integers(dtype, 5)[::-1].copy(), integers(np.uint32, 6)
    low = (lambda a: ((a & 0xFFFFFF) ^ 0x800000) - 0x800000) if dtype == np.int32 else (lambda a: a & 0xFFFFFF)
    check("mul24", [x, y], each(lambda a, b: wrapped(low(a) * low(b), dtype), x, y), dtype)
    check("hadd", [x, y], each(lambda a, b: (a + b) >> 1, x, y), dtype)
    check("rhadd", [x, y], each(lambda a, b: (a + b + 1) >> 1, x, y), dtype)
    check("sad", [x, y, z], each(lambda a, b, c: wrapped(abs(a - b) + c, dtype), x, y, z), dtype)


def test_permuted_bytes():
    x, y, selector = (integers(np.int32, seed) for seed in (7, 8, 9))

    def permuted(a, b, c):
        pool = (b & 0xFFFFFFFF) << 32 | (a & 0xFFFFFFFF)
        return wrapped(sum((pool >> 8 * (c >> 4 * i & 7) & 255) << 8 * i for i in range(4)), np.int32)

    check("byte_perm", [x, y, selector], each(permuted, x, y, selector), np.int32)


# ---- named roundings


def rounded(exact, rounding, dtype):
    """A fraction, rounded to a float by the named rounding."""
    if exact == 0:
        return 0.0
    info = np.finfo(DTYPES[dtype])
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Exact(2) ** exponent > size
    unit = Exact(2) ** (max(exponent, int(info.minexp)) - info.nmant)
    whole, rest = divmod(size, unit)
    up = {"rz": False, "rd": exact < 0 and rest > 0, "ru": exact > 0 and rest > 0, "rn": (rest, whole % 2) > (unit / 2, 0)}[rounding]
    value = (whole + up) * unit
    if value > Exact(float(info.max)):
        inward = rounding == "rz" or (rounding == "rd" and exact > 0) or (rounding == "ru" and exact < 0)
        value = float(info.max) if inward else math.inf
    return -float(value) if exact < 0 else float(value)


ARITHMETIC = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name, rounding, dtype):
    count = ARITHMETIC[name].__code__.co_argcount
    x = [floats(dtype, seed, special=False) for seed in range(count)]
    if name == "fma":  # the sum nearly cancels
        with np.errstate(all="ignore"):
            x[2][::2] = -(x[0] * x[1])[::2]
        x[2][~np.isfinite(x[2]) | (x[2] == 0)] = 1
    check(f"{name}_{rounding}", x, each(lambda *a: rounded(ARITHMETIC[name](*map(Exact, a)), rounding, dtype), *x), DTYPES[dtype])


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_roots(rounding, dtype):
    x = np.abs(floats(dtype, 1, special=False))

    def root(value):
        scale = 1 << 1300
        exact = Exact(value)
        below = Exact(math.isqrt(exact.numerator * scale**2 // exact.denominator), scale)
        return rounded(below if below**2 == exact else below + Exact(1, 2 * scale), rounding, dtype)

    check(f"sqrt_{rounding}", [x], each(root, x), DTYPES[dtype])


@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ["int", "uint", "ll", "ull"])
def test_to_integers(name, rounding, dtype):
    x = floats(dtype, 8)
    to = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}[name]
    low, high = int(np.iinfo(to).min), int(np.iinfo(to).max)
    # As in PTX: NaN becomes zero from fp32 to 32 bits, else only the highest bit is set.
    of_nan = 0 if dtype == "fp32" and to in (np.int32, np.uint32) else low or 1 << (np.iinfo(to).bits - 1)
    whole = {"rn": round, "rz": math.trunc, "rd": math.floor, "ru": math.ceil}[rounding]

    def converted(value):
        if math.isnan(value):
            return of_nan
        return (high if value > 0 else low) if math.isinf(value) else max(low, min(high, whole(value)))

    stored = np.dtype(f"int{np.iinfo(to).bits}")  # libdevice declares unsigned results as signed, too
    expected = np.array(each(converted, x), dtype=object).astype(to).view(stored)
    check(f"{'float' if dtype == 'fp32' else 'double'}2{name}_{rounding}", [x], expected, stored)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", ["int2float", "uint2float", "ll2float", "ull2float", "ll2double", "ull2double"])
def test_from_integers(name, rounding):
    source = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}[name.split("2")[0]]
    dtype = "fp32" if name.endswith("float") else "fp64"
    x = integers(source, 9)
    check(f"{name}_{rounding}", [x], each(lambda a: rounded(Exact(a), rounding, dtype), x), DTYPES[dtype])


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_from_wide_to_short_floats(rounding):
    x = floats("fp64", 10, special=False)
    check(f"double2float_{rounding}", [x], each(lambda a: rounded(Exact(a), rounding, "fp32"), x), np.float32)


def test_nearest_integers():
    x = floats("fp64", 11, special=False) % 1e9
    x[:4] = 0.5, 1.5, -2.5, 1e8 + 0.5
    check("llrint", [x], each(round, x), np.int64)
    check("llround", [x], each(lambda a: int(math.copysign(math.floor(abs(a) + 0.5), a)), x), np.int64)


def test_whole_powers():
    x = np.random.default_rng(12).uniform(-2, 2, N).astype(np.float32)
    n = np.random.default_rng(13).integers(-20, 20, N).astype(np.int32)
    with np.errstate(all="ignore"):
        expected = (x.astype(np.float64) ** n).astype(np.float32)
    np.testing.assert_allclose(call("pow", [x, n], np.float32), expected, rtol=2e-7)


@triton.jit
def division_kernel(x_ptr, y, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.fdiv(x, y, ieee_rounding=True))
    tl.store(out_ptr + N + at, tl.div_rn(x, y))


def test_division_by_one_number_is_rounded_correctly():
    x, out = np.random.default_rng(14).standard_normal(N).astype(np.float32), np.zeros(2 * N, np.float32)
    division_kernel[(1,)](x, 3.7, out, N=N)
    np.testing.assert_array_equal(out, np.tile(x / np.float32(3.7), 2))


@triton.jit
def approximate_division_kernel(x_ptr, out_ptr, N: tl.constexpr, ROUNDS: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.fdiv(tl.load(x_ptr + at), 3.7, ieee_rounding=ROUNDS, approx=True))


def test_division_that_may_be_approximate():
    x, out = np.random.default_rng(15).standard_normal(N).astype(np.float32), np.zeros(N, np.float32)
    approximate_division_kernel[(1,)](x, out, N=N, ROUNDS=False)
    np.testing.assert_allclose(out, x / np.float32(3.7), rtol=3e-7)
    with pytest.raises(triton.CompilationError, match="'approx' must be False with ieee_rounding=True"):
        approximate_division_kernel[(1,)](x, out, N=N, ROUNDS=True)
