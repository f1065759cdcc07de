# Functions of libdevice that are written in the language, and so are the same on every machine. libdevice.def says which they are, and with
# which rounding. The second half of this module is special_functions.py.
import triton
import triton.language as tl
from triton.language.extra import libdevice

_INFINITY = tl.constexpr(float("inf"))
_NAN = tl.constexpr(float("nan"))


# ---- bits


@triton.constexpr_function
def _bits_of(dtype):
    return tl.int32 if dtype.primitive_bitwidth == 32 else tl.int64


@triton.constexpr_function
def _unsigned_of(dtype):
    return tl.uint32 if dtype.primitive_bitwidth == 32 else tl.uint64


@triton.constexpr_function
def _fraction_bits(dtype):
    return 23 if dtype == tl.float32 else 52


@triton.constexpr_function
def _bias(dtype):
    return 127 if dtype == tl.float32 else 1023


@triton.constexpr_function
def _exponent_mask(dtype):
    return 0x7F800000 if dtype == tl.float32 else 0x7FF0000000000000


@triton.constexpr_function
def _magnitude_mask(dtype):
    return 0x7FFFFFFF if dtype.primitive_bitwidth == 32 else 0x7FFFFFFFFFFFFFFF


@triton.jit
def _magnitude_bits(x):
    return x.to(_bits_of(x.dtype), bitcast=True) & _magnitude_mask(x.dtype)


@triton.jit
def _same_bits(x, dtype: tl.constexpr):
    return x.to(dtype, bitcast=True)


@triton.jit
def _is_finite(x):
    return _magnitude_bits(x) < _exponent_mask(x.dtype)


@triton.jit
def signbit(x):
    return _same_bits(x, _bits_of(x.dtype)) < 0


@triton.jit
def isnan(x):
    return _magnitude_bits(x) > _exponent_mask(x.dtype)


@triton.jit
def isinf(x):
    return _magnitude_bits(x) == _exponent_mask(x.dtype)


@triton.jit
def finitef(x):
    return _is_finite(x)


@triton.jit
def isfinited(x):
    return _is_finite(x)


@triton.jit
def copysign(x, y):
    sign = _same_bits(y, _bits_of(y.dtype)) & ~_magnitude_mask(y.dtype)
    return _same_bits(_magnitude_bits(x) | sign, x.dtype)


@triton.jit
def float_as_int(x):
    return _same_bits(x, tl.int32)


@triton.jit
def float_as_uint(x):
    return _same_bits(x, tl.int32)


@triton.jit
def int_as_float(x):
    return _same_bits(x, tl.float32)


@triton.jit
def uint_as_float(x):
    return _same_bits(x, tl.float32)


@triton.jit
def double_as_longlong(x):
    return _same_bits(x, tl.int64)


@triton.jit
def longlong_as_double(x):
    return _same_bits(x, tl.float64)


@triton.jit
def double2loint(x):
    return _same_bits(x, tl.int64).to(tl.int32)


@triton.jit
def double2hiint(x):
    return (_same_bits(x, tl.int64) >> 32).to(tl.int32)


@triton.jit
def hiloint2double(high, low):
    return _same_bits((high.to(tl.int64) << 32) | (low.to(tl.int64) & 0xFFFFFFFF), tl.float64)


@triton.jit
def _up(x):
    """The next number above; infinity and NaN stay."""
    bits = _same_bits(x, _bits_of(x.dtype))
    above = tl.where(bits < 0, bits - 1, bits + 1)
    above = tl.where(x == 0, 1, above).to(bits.dtype)
    return tl.where(x < _INFINITY, _same_bits(above, x.dtype), x)


@triton.jit
def _down(x):
    return -_up(-x)


@triton.jit
def nextafter(x, y):
    moved = tl.where(y > x, _up(x), _down(x))
    return tl.where(x == y, y, tl.where((x != x) | (y != y), x + y, moved))


@triton.jit
def rcp64h(x):
    """The upper halves of a number and of its inverse."""
    upper: tl.constexpr = ~0xFFFFFFFF
    inverse = 1.0 / _same_bits(_same_bits(x, tl.int64) & upper, tl.float64)
    return _same_bits(_same_bits(inverse, tl.int64) & upper, tl.float64)


# ---- exponents


@triton.jit
def _split(x):
    """x = number * 2^exponent with 1 <= |number| < 2; of 0: 0 and an exponent below all others; infinity and NaN are themselves."""
    word: tl.constexpr = _bits_of(x.dtype)
    fraction: tl.constexpr = _fraction_bits(x.dtype)
    bias: tl.constexpr = _bias(x.dtype)
    small = _magnitude_bits(x) < (1 << fraction)
    normal = tl.where(small, x * 2.0 ** (fraction + 1), x)
    bits = _same_bits(normal, word)
    exponent = ((bits & _exponent_mask(x.dtype)) >> fraction).to(tl.int32) - bias - tl.where(small, fraction + 1, 0)
    number = _same_bits((bits & ~_exponent_mask(x.dtype)) | (bias << fraction), x.dtype)
    strange = (x == 0) | (_is_finite(x) == 0)
    return tl.where(strange, x, number), tl.where(x == 0, -5000, exponent)


@triton.jit
def _power_of_two(n, dtype: tl.constexpr):
    """2^n of a normal exponent."""
    return _same_bits((n.to(_bits_of(dtype)) + _bias(dtype)) << _fraction_bits(dtype), dtype)


@triton.jit
def ldexp(x, n):
    """Rounded once: x goes down by steps that leave it normal, and by one last step."""
    dtype: tl.constexpr = x.dtype
    number, exponent = _split(x)
    n = tl.minimum(tl.maximum(n, -5000), 5000)
    total = tl.minimum(tl.maximum(exponent + n, -1200), 1100)
    bias: tl.constexpr = _bias(dtype)
    lowest: tl.constexpr = 1 - bias
    first = tl.minimum(tl.maximum(total, lowest), bias)
    rest = tl.minimum(tl.maximum(total - first, lowest), bias)
    result = (number * _power_of_two(first, dtype)) * _power_of_two(rest, dtype)
    return tl.where((x == 0) | (_is_finite(x) == 0), x, result)


@triton.jit
def scalbn(x, n):
    return ldexp(x, n)


@triton.jit
def ilogb(x):
    number, exponent = _split(x)
    special = tl.where(x == 0, -2147483648, tl.where(x != x, -2147483648, 2147483647)).to(tl.int32)
    return tl.where((x == 0) | (_is_finite(x) == 0), special, exponent)


@triton.jit
def logb(x):
    number, exponent = _split(x)
    result = tl.where(_is_finite(x), exponent.to(x.dtype), x * x)
    return tl.where(x == 0, -_INFINITY, result)


# ---- exact sums and products, and their rounding in a chosen direction


@triton.jit
def _two_sum(x, y):
    """x + y = total + rest, exactly."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@triton.jit
def _directed(nearest, rest, rounding: tl.constexpr):
    """Rounds `nearest` + `rest` in a direction. `nearest` is the nearest number; only the sign of `rest` is used."""
    if rounding == "rd":
        return tl.where(rest < 0, _down(nearest), nearest)
    elif rounding == "ru":
        return tl.where(rest > 0, _up(nearest), nearest)
    elif rounding == "rz":
        inward = tl.where(nearest > 0, _down(nearest), _up(nearest))
        # At a zero, the rest has the sign of the exact result, which rounds to that zero.
        outside = ((nearest > 0) & (rest < 0)) | ((nearest < 0) & (rest > 0))
        return tl.where(outside, inward, nearest)
    else:
        return nearest


@triton.jit
def _narrowed(total, rest, rounding: tl.constexpr):
    """`total` + `rest`, in fp64, as fp32."""
    nearest = total.to(tl.float32)
    lack = total - nearest.to(tl.float64)
    return _directed(nearest, tl.where(lack == 0, rest, lack), rounding)


@triton.jit
def _of_sum(x, y, rounding: tl.constexpr):
    """x + y of fp64 numbers, rounded as fp64. A sum of finite numbers that is infinite lacks something."""
    total, rest = _two_sum(x, y)
    overflows = isinf(total) & _is_finite(x) & _is_finite(y)
    return _directed(total, tl.where(overflows, -total, rest), rounding)


@triton.jit
def _scaled(x, n):
    """x * 2^n if that is a normal number, in steps that are normal numbers."""
    part = n // 4
    step = _power_of_two(part, x.dtype)
    return x * step * step * step * _power_of_two(n - 3 * part, x.dtype)


@triton.jit
def _of_product(x, y, rounding: tl.constexpr):
    nearest = x * y
    a, m = _split(x)
    b, n = _split(y)
    sign = a * b
    lack = tl.fma(a, b, -_scaled(nearest, tl.minimum(tl.maximum(-m - n, -2200), 2200)))
    usual = (x != 0) & (y != 0) & _is_finite(x) & _is_finite(y)
    lack = tl.where(isinf(nearest), -nearest, tl.where(nearest == 0, sign, lack))
    return _of_zero(_directed(nearest, tl.where(usual, lack, 0.0), rounding), sign, usual, rounding)


@triton.jit
def _of_zero(result, exact, usual, rounding: tl.constexpr):
    """A result that has vanished, where `exact` says on which side of zero it is."""
    tiny = 5e-324
    if rounding == "ru":
        return tl.where(usual & (result == 0) & (exact > 0), tiny, result)
    elif rounding == "rd":
        return tl.where(usual & (result == 0) & (exact < 0), -tiny, result)
    else:
        return result


@triton.jit
def _of_quotient(x, y, rounding: tl.constexpr):
    nearest = x / y
    a, m = _split(x)
    b, n = _split(y)
    shift = tl.minimum(tl.maximum(n - m, -2200), 2200)
    lack = tl.fma(-_scaled(nearest, shift), b, a)
    lack = tl.where(b < 0, -lack, lack)
    usual = (x != 0) & (y != 0) & _is_finite(x) & _is_finite(y)
    lack = tl.where(isinf(nearest), -nearest, tl.where(nearest == 0, a * b, lack))
    return _of_zero(_directed(nearest, tl.where(usual, lack, 0.0), rounding), a * b, usual, rounding)


@triton.jit
def _of_root(x, rounding: tl.constexpr):
    nearest = tl.sqrt(x)
    small = x < 1e-200
    scaled = tl.where(small, x * 2.0**600, x)
    root = tl.where(small, nearest * 2.0**300, nearest)
    usual = (x > 0) & _is_finite(x)
    return _directed(nearest, tl.where(usual, tl.fma(-root, root, scaled), 0.0), rounding)


@triton.jit
def _of_fused(x, y, z, rounding: tl.constexpr):
    """x * y + z. The exponents of the three are brought close together. A term far below the others counts only by its sign."""
    nearest = tl.fma(x, y, z)
    a, m = _split(x)
    b, n = _split(y)
    c, k = _split(z)
    below = k - (m + n)
    high = below > 300
    product = tl.fma(a, b, 0.0)  # not fused with the sum: its error is added below
    c = _scaled(c, tl.minimum(tl.maximum(below, -300), 300))
    shift = tl.minimum(tl.maximum(tl.where(high, 300 - k, -m - n), -2200), 2200)
    total, rest = _two_sum(product, c)
    lack, more = _two_sum(total, -_scaled(nearest, shift))
    rest, tail = _two_sum(rest, tl.fma(a, b, -product))
    lack = (lack + rest) + (more + tail)
    finite = _is_finite(x) & _is_finite(y) & _is_finite(z)
    lack = tl.where(isinf(nearest), -nearest, lack)
    exact = tl.where(z == 0, product, total)
    usual = finite & (((x != 0) & (y != 0)) | (z != 0))
    vanished = usual & (nearest == 0) & (exact != 0)
    lack = tl.where(vanished, exact, lack)
    return _of_zero(_directed(nearest, tl.where(usual, lack, 0.0), rounding), exact, vanished, rounding)


@triton.jit
def add_rounded(x, y, rounding: tl.constexpr):
    if rounding == "rn":
        return x + y
    elif x.dtype == tl.float32:
        total, rest = _two_sum(x.to(tl.float64), y.to(tl.float64))
        return _sum_of_opposites(_narrowed(total, rest, rounding), x, y, rounding)
    else:
        return _sum_of_opposites(_of_sum(x, y, rounding), x, y, rounding)


@triton.jit
def _sum_of_opposites(result, x, y, rounding: tl.constexpr):
    """x - x is -0.0 where sums are rounded down."""
    if rounding == "rd":
        return tl.where((x == -y) & (x != 0), -0.0, tl.where((x == 0) & (y == 0) & (signbit(x) | signbit(y)), -0.0, result)).to(result.dtype)
    else:
        return result


@triton.jit
def sub_rounded(x, y, rounding: tl.constexpr):
    if rounding == "rn":
        return x - y
    else:
        return add_rounded(x, -y, rounding)


@triton.jit
def mul_rounded(x, y, rounding: tl.constexpr):
    if rounding == "rn":
        return x * y
    elif x.dtype == tl.float32:
        return _narrowed(x.to(tl.float64) * y.to(tl.float64), 0.0, rounding)
    else:
        return _of_product(x, y, rounding)


@triton.jit
def div_rounded(x, y, rounding: tl.constexpr):
    if x.dtype == tl.float32:
        a = x.to(tl.float64)
        b = y.to(tl.float64)
        quotient = a / b
        lack = tl.fma(-quotient, b, a)
        return _narrowed(quotient, tl.where(b < 0, -lack, lack), rounding)
    elif rounding == "rn":
        return x / y
    else:
        return _of_quotient(x, y, rounding)


@triton.jit
def _one(x):
    return (_magnitude_bits(x) * 0 + 1).to(x.dtype)


@triton.jit
def rcp_rounded(x, rounding: tl.constexpr):
    return div_rounded(_one(x), x, rounding)


@triton.jit
def sqrt_rounded(x, rounding: tl.constexpr):
    if x.dtype == tl.float32:
        wide = x.to(tl.float64)
        root = tl.sqrt(wide)
        return _narrowed(root, tl.where((wide > 0) & _is_finite(wide), tl.fma(-root, root, wide), 0.0), rounding)
    elif rounding == "rn":
        return tl.sqrt(x)
    else:
        return _of_root(x, rounding)


@triton.jit
def rsqrt_rounded(x, rounding: tl.constexpr):
    return (1.0 / tl.sqrt(x.to(tl.float64))).to(tl.float32)


@triton.jit
def fma_rounded(x, y, z, rounding: tl.constexpr):
    if rounding == "rn":
        return tl.fma(x, y, z)
    elif x.dtype == tl.float32:
        product = x.to(tl.float64) * y.to(tl.float64)
        total, rest = _two_sum(product, z.to(tl.float64))
        return _sum_of_opposites(_narrowed(total, rest, rounding), product, z.to(tl.float64), rounding)
    else:
        return _of_fused(x, y, z, rounding)


# ---- conversions with a rounding of one's choice


@triton.jit
def _whole(x, rounding: tl.constexpr):
    if rounding == "rd":
        return tl.floor(x)
    elif rounding == "ru":
        return tl.ceil(x)
    elif rounding == "rz":
        return libdevice.trunc(x)
    else:
        return libdevice.rint(x)


@triton.jit
def _saturated(whole, low: tl.constexpr, high: tl.constexpr, of_nan: tl.constexpr, dtype: tl.constexpr):
    """A whole number as an integer: the nearest one if it is out of range. `high` is the first number that is too large."""
    inside = (whole >= 1.0 * low) & (whole < 1.0 * high)
    result = tl.where(inside, whole, 0.0).to(dtype)
    result = tl.where(whole >= 1.0 * high, high - 1, result).to(dtype)
    result = tl.where(whole < 1.0 * low, low, result).to(dtype)
    return tl.where(whole != whole, of_nan, result).to(dtype)


@triton.jit
def float2int_rounded(x, rounding: tl.constexpr):
    return _saturated(_whole(x, rounding), -(2**31), 2**31, 0, tl.int32)


@triton.jit
def float2uint_rounded(x, rounding: tl.constexpr):
    return _saturated(_whole(x, rounding), 0, 2**32, 0, tl.uint32)


@triton.jit
def float2ll_rounded(x, rounding: tl.constexpr):
    return _saturated(_whole(x, rounding), -(2**63), 2**63, -(2**63), tl.int64)


@triton.jit
def float2ull_rounded(x, rounding: tl.constexpr):
    return _saturated(_whole(x, rounding), 0, 2**64, 2**63, tl.uint64)


@triton.jit
def double2int_rounded(x, rounding: tl.constexpr):
    return _saturated(_whole(x, rounding), -(2**31), 2**31, -(2**31), tl.int32)


@triton.jit
def double2uint_rounded(x, rounding: tl.constexpr):
    return _saturated(_whole(x, rounding), 0, 2**32, 2**31, tl.uint32)


@triton.jit
def double2ll_rounded(x, rounding: tl.constexpr):
    return float2ll_rounded(x, rounding)


@triton.jit
def double2ull_rounded(x, rounding: tl.constexpr):
    return float2ull_rounded(x, rounding)


@triton.jit
def llrint(x):
    return float2ll_rounded(x, "rn")


@triton.jit
def llround(x):
    return float2ll_rounded(libdevice.round(x), "rz")


@triton.jit
def double2float_rounded(x, rounding: tl.constexpr):
    return _narrowed(x, 0.0, rounding)


@triton.jit
def int2float_rounded(x, rounding: tl.constexpr):
    return _narrowed(x.to(tl.float64), 0.0, rounding)


@triton.jit
def uint2float_rounded(x, rounding: tl.constexpr):
    return _narrowed(x.to(tl.float64), 0.0, rounding)


@triton.jit
def int2double_rounded(x, rounding: tl.constexpr):
    return x.to(tl.float64)


@triton.jit
def uint2double_rounded(x, rounding: tl.constexpr):
    return x.to(tl.float64)


@triton.jit
def _halves(x):
    """A 64-bit integer as the exact sum of two numbers."""
    return _two_sum((x >> 32).to(tl.float64) * 4294967296.0, (x & 0xFFFFFFFF).to(tl.float64))


@triton.jit
def ll2float_rounded(x, rounding: tl.constexpr):
    total, rest = _halves(x)
    # Round to odd: the last bit of a rounded total records the lost bits, so that the second rounding is as from the exact value.
    bits = _same_bits(total, tl.int64)
    away = (rest > 0) == (total > 0)
    odd = tl.where((rest != 0) & ((bits & 1) == 0), tl.where(away, bits + 1, bits - 1), bits)
    return _narrowed(_same_bits(odd, tl.float64), 0.0, rounding)


@triton.jit
def ull2float_rounded(x, rounding: tl.constexpr):
    return ll2float_rounded(x, rounding)


@triton.jit
def ll2double_rounded(x, rounding: tl.constexpr):
    total, rest = _halves(x)
    return _directed(total, rest, rounding)


@triton.jit
def ull2double_rounded(x, rounding: tl.constexpr):
    return ll2double_rounded(x, rounding)


# ---- integers


@triton.jit
def popc(x):
    wide: tl.constexpr = _unsigned_of(x.dtype)
    bits = x.to(wide, bitcast=True)
    ones: tl.constexpr = 0x0101010101010101 if wide == tl.uint64 else 0x01010101
    bits = bits - ((bits >> 1) & (ones * 0x55))
    bits = (bits & (ones * 0x33)) + ((bits >> 2) & (ones * 0x33))
    bits = (bits + (bits >> 4)) & (ones * 0x0F)
    return ((bits * ones) >> (x.dtype.primitive_bitwidth - 8)).to(tl.int32)


@triton.jit
def clz(x):
    bits = x.to(_unsigned_of(x.dtype), bitcast=True)
    for step in tl.static_range(6 if x.dtype.primitive_bitwidth == 64 else 5):
        bits = bits | (bits >> (1 << step))
    return x.dtype.primitive_bitwidth - popc(bits)


@triton.jit
def ffs(x):
    lowest = x & -x
    return tl.where(x == 0, 0, popc(lowest - 1) + 1)


@triton.jit
def _exchanged(bits, half: tl.constexpr, low: tl.constexpr):
    return ((bits >> half) & low) | ((bits & low) << half)


@triton.jit
def brev(x):
    bits = x.to(_unsigned_of(x.dtype), bitcast=True)
    width: tl.constexpr = x.dtype.primitive_bitwidth
    ones: tl.constexpr = 2**width - 1
    for step in tl.static_range(6 if width == 64 else 5):
        bits = _exchanged(bits, width >> (step + 1), ones // (2 ** (width >> (step + 1)) + 1))
    return bits.to(x.dtype, bitcast=True)


@triton.jit
def byte_perm(x, y, selector):
    bytes = (x.to(tl.uint32, bitcast=True).to(tl.uint64)) | (y.to(tl.uint32, bitcast=True).to(tl.uint64) << 32)
    result = (x * 0).to(tl.uint64)
    for i in tl.static_range(4):
        number = ((selector >> (4 * i)) & 7).to(tl.uint64)
        result = result | (((bytes >> (number * 8)) & 255) << (8 * i))
    return result.to(tl.uint32).to(tl.int32, bitcast=True)


@triton.jit
def mulhi(x, y):
    high = tl.umulhi(x, y)
    if x.dtype.is_int_signed():
        zero = high - high
        return high - tl.where(x < 0, y, zero) - tl.where(y < 0, x, zero)
    else:
        return high


@triton.jit
def mul24(x, y):
    if x.dtype.is_int_signed():
        return ((x << 8) >> 8) * ((y << 8) >> 8)
    else:
        return (x & 0xFFFFFF) * (y & 0xFFFFFF)


@triton.jit
def sad(x, y, z):
    larger = tl.where(x > y, x, y).to(tl.uint32, bitcast=True)
    smaller = tl.where(x > y, y, x).to(tl.uint32, bitcast=True)
    return (larger - smaller) + z


@triton.jit
def hadd(x, y):
    return (x & y) + ((x ^ y) >> 1)


@triton.jit
def rhadd(x, y):
    return (x | y) - ((x ^ y) >> 1)


# ---- small functions of floats


@triton.jit
def fma(x, y, z):
    return tl.fma(x, y, z)


@triton.jit
def abs(x):
    return tl.abs(x)


@triton.jit
def min(x, y):
    return tl.minimum(x, y)


@triton.jit
def max(x, y):
    return tl.maximum(x, y)


@triton.jit
def saturatef(x):
    return tl.where(x > 0, tl.where(x < 1, x, 1.0), 0.0).to(tl.float32)


@triton.jit
def fdim(x, y):
    return tl.where((x != x) | (y != y), x + y, tl.where(x > y, x - y, 0.0)).to(x.dtype)


@triton.jit
def remainder(x, y):
    """x - n y for the whole n nearest to x / y, the even one of two."""
    divisor = tl.abs(y)
    # The remainder by 2 y, if that is finite, determines whether n is even.
    double = tl.where(divisor < 2.0 ** (_bias(x.dtype) - 1), divisor + divisor, _INFINITY)
    rest = tl.abs(tl.where(double < _INFINITY, libdevice.fmod(x, double), x))
    small = divisor < 2.0 ** (3 - _bias(x.dtype)) # halves of these are not exact
    first = tl.where(small, rest + rest > divisor, rest > divisor * 0.5)
    once = tl.where(first, rest - divisor, rest)
    second = first & tl.where(small, once + once >= divisor, once >= divisor * 0.5)
    result = tl.where(second, once - divisor, once)
    result = tl.where(signbit(x), -result, result)
    valid = _is_finite(x) & (y != 0) & (y == y)
    return tl.where(valid, tl.where(isinf(y), x, result), _NAN).to(x.dtype)


@triton.jit
def rcbrt(x):
    wide = x.to(tl.float64)
    return (1.0 / libdevice.cbrt(wide)).to(x.dtype)


@triton.jit
def _length(x, y, z, w, inverse: tl.constexpr):
    """The length of a vector, or its inverse; the numbers are brought near 1 before they are squared."""
    largest = tl.maximum(tl.maximum(tl.abs(x), tl.abs(y)), tl.maximum(tl.abs(z), tl.abs(w)))
    _, exponent = _split(largest)
    exponent = tl.minimum(tl.maximum(exponent, -1100), 1100)
    a = _scaled(x, -exponent)
    b = _scaled(y, -exponent)
    c = _scaled(z, -exponent)
    d = _scaled(w, -exponent)
    square = a * a
    rest = tl.fma(a, a, -square)
    for i in tl.static_range(3):
        value = b if i == 0 else (c if i == 1 else d)
        product = value * value
        square, lost = _two_sum(square, product)
        rest += lost + tl.fma(value, value, -product)
    root = tl.sqrt(square + rest)
    infinite = isinf(x) | isinf(y) | isinf(z) | isinf(w)
    nan = (x != x) | (y != y) | (z != z) | (w != w)
    if inverse:
        result = tl.where(largest == 0, _INFINITY, ldexp(1.0 / root, -exponent))
        return tl.where(infinite, 0.0, tl.where(nan, _NAN, result))
    else:
        result = tl.where(largest == 0, 0.0, ldexp(root, exponent))
        return tl.where(infinite, _INFINITY, tl.where(nan, _NAN, result))


@triton.jit
def norm3d(x, y, z):
    wide = z.to(tl.float64)
    return _length(x.to(tl.float64), y.to(tl.float64), wide, tl.zeros_like(wide), False).to(x.dtype)


@triton.jit
def rnorm3d(x, y, z):
    wide = z.to(tl.float64)
    return _length(x.to(tl.float64), y.to(tl.float64), wide, tl.zeros_like(wide), True).to(x.dtype)


@triton.jit
def norm4d(x, y, z, w):
    return _length(x.to(tl.float64), y.to(tl.float64), z.to(tl.float64), w.to(tl.float64), False).to(x.dtype)


@triton.jit
def rnorm4d(x, y, z, w):
    return _length(x.to(tl.float64), y.to(tl.float64), z.to(tl.float64), w.to(tl.float64), True).to(x.dtype)


@triton.jit
def rhypot(x, y):
    wide = y.to(tl.float64)
    return _length(x.to(tl.float64), wide, tl.zeros_like(wide), tl.zeros_like(wide), True).to(x.dtype)


@triton.jit
def fast_dividef(x, y):
    return x / y
