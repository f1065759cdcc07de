# Written by tools/stubs.py from the tables of builtins: edit those.
from .. import _TensorLike as _TensorLike, tensor as tensor

def acos(arg0: _TensorLike) -> tensor:
    """The arc cosine, in radians; NaN outside of [-1, 1]."""
def acosh(arg0: _TensorLike) -> tensor:
    """The inverse hyperbolic cosine; NaN below 1."""
def asin(arg0: _TensorLike) -> tensor:
    """The arc sine, in radians; NaN outside of [-1, 1]."""
def asinh(arg0: _TensorLike) -> tensor:
    """The inverse hyperbolic sine."""
def atan(arg0: _TensorLike) -> tensor:
    """The arc tangent, in radians."""
def atanh(arg0: _TensorLike) -> tensor:
    """The inverse hyperbolic tangent; NaN outside of [-1, 1]."""
def cbrt(arg0: _TensorLike) -> tensor:
    """The cube root."""
def ceil(arg0: _TensorLike) -> tensor:
    """The next integral value above."""
def cos(arg0: _TensorLike) -> tensor:
    """The cosine of an angle in radians."""
def cosh(arg0: _TensorLike) -> tensor:
    """The hyperbolic cosine."""
def cospi(arg0: _TensorLike) -> tensor:
    """The cosine of pi times x."""
def erf(arg0: _TensorLike) -> tensor:
    """The error function."""
def erfc(arg0: _TensorLike) -> tensor:
    """1 - erf(x), accurate for small results."""
def erfcinv(arg0: _TensorLike) -> tensor:
    """The inverse of erfc."""
def erfcx(arg0: _TensorLike) -> tensor:
    """Exp(x * x) * erfc(x)."""
def erfinv(arg0: _TensorLike) -> tensor:
    """The inverse of erf."""
def exp(arg0: _TensorLike) -> tensor:
    """E to the power x."""
def exp10(arg0: _TensorLike) -> tensor:
    """10 to the power x."""
def exp2(arg0: _TensorLike) -> tensor:
    """2 to the power x."""
def expm1(arg0: _TensorLike) -> tensor:
    """Exp(x) - 1, accurate near 0."""
def floor(arg0: _TensorLike) -> tensor:
    """The next integral value below."""
def lgamma(arg0: _TensorLike) -> tensor:
    """The logarithm of the absolute value of the gamma function."""
def log(arg0: _TensorLike) -> tensor:
    """The natural logarithm."""
def log10(arg0: _TensorLike) -> tensor:
    """The logarithm to base 10."""
def log1p(arg0: _TensorLike) -> tensor:
    """Log(1 + x), accurate near 0."""
def log2(arg0: _TensorLike) -> tensor:
    """The logarithm to base 2."""
def logb(arg0: _TensorLike) -> tensor:
    """The exponent of a float as a float."""
def nearbyint(arg0: _TensorLike) -> tensor:
    """The nearest integral value, ties to even."""
def normcdf(arg0: _TensorLike) -> tensor:
    """The cumulative distribution function of the normal distribution."""
def normcdfinv(arg0: _TensorLike) -> tensor:
    """The inverse of normcdf."""
def rcbrt(arg0: _TensorLike) -> tensor:
    """1 / cube root."""
def rint(arg0: _TensorLike) -> tensor:
    """The nearest integral value, ties to even."""
def round(arg0: _TensorLike) -> tensor:
    """The nearest integral value, ties away from zero."""
def rsqrt(arg0: _TensorLike) -> tensor:
    """1 / square root."""
def sin(arg0: _TensorLike) -> tensor:
    """The sine of an angle in radians."""
def sinh(arg0: _TensorLike) -> tensor:
    """The hyperbolic sine."""
def sinpi(arg0: _TensorLike) -> tensor:
    """The sine of pi times x."""
def sqrt(arg0: _TensorLike) -> tensor:
    """The square root."""
def tan(arg0: _TensorLike) -> tensor:
    """The tangent of an angle in radians."""
def tanh(arg0: _TensorLike) -> tensor:
    """The hyperbolic tangent."""
def tgamma(arg0: _TensorLike) -> tensor:
    """The gamma function."""
def trunc(arg0: _TensorLike) -> tensor:
    """The integral part, rounded towards zero."""
def j0(arg0: _TensorLike) -> tensor:
    """The Bessel function of the first kind, of order 0 or 1."""
def j1(arg0: _TensorLike) -> tensor:
    """The Bessel function of the first kind, of order 0 or 1."""
def y0(arg0: _TensorLike) -> tensor:
    """The Bessel function of the second kind, of order 0 or 1."""
def y1(arg0: _TensorLike) -> tensor:
    """The Bessel function of the second kind, of order 0 or 1."""
def cyl_bessel_i0(arg0: _TensorLike) -> tensor:
    """The modified Bessel function of the first kind, of order 0 or 1."""
def cyl_bessel_i1(arg0: _TensorLike) -> tensor:
    """The modified Bessel function of the first kind, of order 0 or 1."""
def atan2(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The angle of the point (arg1, arg0), in radians, from -pi to pi."""
def copysign(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The first value with the sign of the second."""
def fdim(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """X - y if that is positive, else 0."""
def fmod(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The remainder of a truncating division, with the sign of x."""
def hypot(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The length of the vector (x, y), without intermediate overflow."""
def nextafter(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The next float after x towards y."""
def pow(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """X to the power y."""
def remainder(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """X - n * y, where n is the integer nearest to x / y."""
def rhypot(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """1 / hypot(x, y)."""
def fma(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """X * y + z with one rounding."""
def abs(arg0: _TensorLike) -> tensor:
    """The absolute value."""
def min(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The larger, or the smaller, of two integers or floats."""
def max(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The larger, or the smaller, of two integers or floats."""
def ldexp(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """X times 2 to an integer power."""
def scalbn(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """X times 2 to an integer power."""
def ilogb(arg0: _TensorLike) -> tensor:
    """The exponent of a float as int32."""
def isnan(arg0: _TensorLike) -> tensor:
    """Whether a value is NaN."""
def isinf(arg0: _TensorLike) -> tensor:
    """Whether a value is infinite."""
def finitef(arg0: _TensorLike) -> tensor:
    """Whether a value is neither infinite nor NaN."""
def isfinited(arg0: _TensorLike) -> tensor:
    """Whether a value is neither infinite nor NaN."""
def signbit(arg0: _TensorLike) -> tensor:
    """Whether the sign bit is set."""
def saturatef(arg0: _TensorLike) -> tensor:
    """A value clamped to [0, 1]; NaN becomes 0."""
def llrint(arg0: _TensorLike) -> tensor:
    """The nearest integer as int64, ties to even."""
def llround(arg0: _TensorLike) -> tensor:
    """The nearest integer as int64, ties away from zero."""
def norm3d(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """The length of a vector of three, without intermediate overflow."""
def norm4d(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike, arg3: _TensorLike) -> tensor:
    """The length of a vector of four, without intermediate overflow."""
def jn(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The Bessel function of the first kind, of order arg0 at arg1."""
def yn(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The Bessel function of the second kind, of order arg0 at arg1."""
def clz(arg0: _TensorLike) -> tensor:
    """The number of leading zero bits."""
def popc(arg0: _TensorLike) -> tensor:
    """The number of set bits."""
def brev(arg0: _TensorLike) -> tensor:
    """The bits in reverse order."""
def ffs(arg0: _TensorLike) -> tensor:
    """The index of the lowest set bit, counted from 1; 0 if no bit is set."""
def byte_perm(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """Four bytes of the eight in two integers, selected by the lower four hexadecimal digits of the third."""
def mulhi(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The upper half of the product of two integers."""
def mul24(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The product of the lower 24 bits of two integers."""
def sad(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """|x - y| + z of integers."""
def hadd(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The mean of two integers, rounded down."""
def rhadd(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The mean of two integers, rounded up."""
def fast_sinf(arg0: _TensorLike) -> tensor:
    """The cosine, sine or tangent with a GPU's approximate instructions."""
def fast_cosf(arg0: _TensorLike) -> tensor:
    """The cosine, sine or tangent with a GPU's approximate instructions."""
def fast_log2f(arg0: _TensorLike) -> tensor:
    """The logarithm to base 10, 2 or e with a GPU's approximate instruction."""
def fast_logf(arg0: _TensorLike) -> tensor:
    """The logarithm to base 10, 2 or e with a GPU's approximate instruction."""
def fast_expf(arg0: _TensorLike) -> tensor:
    """10, or e, to the power x with a GPU's approximate instruction."""
def fast_tanf(arg0: _TensorLike) -> tensor:
    """The cosine, sine or tangent with a GPU's approximate instructions."""
def fast_exp10f(arg0: _TensorLike) -> tensor:
    """10, or e, to the power x with a GPU's approximate instruction."""
def fast_log10f(arg0: _TensorLike) -> tensor:
    """The logarithm to base 10, 2 or e with a GPU's approximate instruction."""
def fast_powf(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """An approximate power."""
def fast_dividef(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """An approximate quotient."""
def add_rn(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The sum, rounded down, to nearest, up, or towards zero."""
def sub_rn(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The difference, rounded down, to nearest, up, or towards zero."""
def mul_rn(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The product, rounded down, to nearest, up, or towards zero."""
def div_rn(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The quotient, rounded down, to nearest, up, or towards zero."""
def fma_rn(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """X * y + z with one rounding: down, to nearest, up, or towards zero."""
def sqrt_rn(arg0: _TensorLike) -> tensor:
    """The square root, rounded down, to nearest, up, or towards zero."""
def rcp_rn(arg0: _TensorLike) -> tensor:
    """The reciprocal, rounded down, to nearest, up, or towards zero."""
def float2int_rn(arg0: _TensorLike) -> tensor:
    """Fp32 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def double2int_rn(arg0: _TensorLike) -> tensor:
    """Fp64 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def int2float_rn(arg0: _TensorLike) -> tensor:
    """Int32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2uint_rn(arg0: _TensorLike) -> tensor:
    """Fp32 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def double2uint_rn(arg0: _TensorLike) -> tensor:
    """Fp64 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def uint2float_rn(arg0: _TensorLike) -> tensor:
    """Uint32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2ll_rn(arg0: _TensorLike) -> tensor:
    """Fp32 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ll_rn(arg0: _TensorLike) -> tensor:
    """Fp64 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def ll2float_rn(arg0: _TensorLike) -> tensor:
    """Int64 as fp32, rounded down, to nearest, up, or towards zero."""
def ll2double_rn(arg0: _TensorLike) -> tensor:
    """Int64 as fp64, rounded down, to nearest, up, or towards zero."""
def float2ull_rn(arg0: _TensorLike) -> tensor:
    """Fp32 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ull_rn(arg0: _TensorLike) -> tensor:
    """Fp64 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def ull2float_rn(arg0: _TensorLike) -> tensor:
    """Uint64 as fp32, rounded down, to nearest, up, or towards zero."""
def ull2double_rn(arg0: _TensorLike) -> tensor:
    """Uint64 as fp64, rounded down, to nearest, up, or towards zero."""
def double2float_rn(arg0: _TensorLike) -> tensor:
    """Fp64 as fp32, rounded down, to nearest, up, or towards zero."""
def add_rz(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The sum, rounded down, to nearest, up, or towards zero."""
def sub_rz(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The difference, rounded down, to nearest, up, or towards zero."""
def mul_rz(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The product, rounded down, to nearest, up, or towards zero."""
def div_rz(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The quotient, rounded down, to nearest, up, or towards zero."""
def fma_rz(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """X * y + z with one rounding: down, to nearest, up, or towards zero."""
def sqrt_rz(arg0: _TensorLike) -> tensor:
    """The square root, rounded down, to nearest, up, or towards zero."""
def rcp_rz(arg0: _TensorLike) -> tensor:
    """The reciprocal, rounded down, to nearest, up, or towards zero."""
def float2int_rz(arg0: _TensorLike) -> tensor:
    """Fp32 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def double2int_rz(arg0: _TensorLike) -> tensor:
    """Fp64 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def int2float_rz(arg0: _TensorLike) -> tensor:
    """Int32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2uint_rz(arg0: _TensorLike) -> tensor:
    """Fp32 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def double2uint_rz(arg0: _TensorLike) -> tensor:
    """Fp64 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def uint2float_rz(arg0: _TensorLike) -> tensor:
    """Uint32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2ll_rz(arg0: _TensorLike) -> tensor:
    """Fp32 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ll_rz(arg0: _TensorLike) -> tensor:
    """Fp64 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def ll2float_rz(arg0: _TensorLike) -> tensor:
    """Int64 as fp32, rounded down, to nearest, up, or towards zero."""
def ll2double_rz(arg0: _TensorLike) -> tensor:
    """Int64 as fp64, rounded down, to nearest, up, or towards zero."""
def float2ull_rz(arg0: _TensorLike) -> tensor:
    """Fp32 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ull_rz(arg0: _TensorLike) -> tensor:
    """Fp64 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def ull2float_rz(arg0: _TensorLike) -> tensor:
    """Uint64 as fp32, rounded down, to nearest, up, or towards zero."""
def ull2double_rz(arg0: _TensorLike) -> tensor:
    """Uint64 as fp64, rounded down, to nearest, up, or towards zero."""
def double2float_rz(arg0: _TensorLike) -> tensor:
    """Fp64 as fp32, rounded down, to nearest, up, or towards zero."""
def add_rd(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The sum, rounded down, to nearest, up, or towards zero."""
def sub_rd(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The difference, rounded down, to nearest, up, or towards zero."""
def mul_rd(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The product, rounded down, to nearest, up, or towards zero."""
def div_rd(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The quotient, rounded down, to nearest, up, or towards zero."""
def fma_rd(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """X * y + z with one rounding: down, to nearest, up, or towards zero."""
def sqrt_rd(arg0: _TensorLike) -> tensor:
    """The square root, rounded down, to nearest, up, or towards zero."""
def rcp_rd(arg0: _TensorLike) -> tensor:
    """The reciprocal, rounded down, to nearest, up, or towards zero."""
def float2int_rd(arg0: _TensorLike) -> tensor:
    """Fp32 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def double2int_rd(arg0: _TensorLike) -> tensor:
    """Fp64 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def int2float_rd(arg0: _TensorLike) -> tensor:
    """Int32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2uint_rd(arg0: _TensorLike) -> tensor:
    """Fp32 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def double2uint_rd(arg0: _TensorLike) -> tensor:
    """Fp64 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def uint2float_rd(arg0: _TensorLike) -> tensor:
    """Uint32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2ll_rd(arg0: _TensorLike) -> tensor:
    """Fp32 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ll_rd(arg0: _TensorLike) -> tensor:
    """Fp64 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def ll2float_rd(arg0: _TensorLike) -> tensor:
    """Int64 as fp32, rounded down, to nearest, up, or towards zero."""
def ll2double_rd(arg0: _TensorLike) -> tensor:
    """Int64 as fp64, rounded down, to nearest, up, or towards zero."""
def float2ull_rd(arg0: _TensorLike) -> tensor:
    """Fp32 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ull_rd(arg0: _TensorLike) -> tensor:
    """Fp64 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def ull2float_rd(arg0: _TensorLike) -> tensor:
    """Uint64 as fp32, rounded down, to nearest, up, or towards zero."""
def ull2double_rd(arg0: _TensorLike) -> tensor:
    """Uint64 as fp64, rounded down, to nearest, up, or towards zero."""
def double2float_rd(arg0: _TensorLike) -> tensor:
    """Fp64 as fp32, rounded down, to nearest, up, or towards zero."""
def add_ru(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The sum, rounded down, to nearest, up, or towards zero."""
def sub_ru(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The difference, rounded down, to nearest, up, or towards zero."""
def mul_ru(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The product, rounded down, to nearest, up, or towards zero."""
def div_ru(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """The quotient, rounded down, to nearest, up, or towards zero."""
def fma_ru(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """X * y + z with one rounding: down, to nearest, up, or towards zero."""
def sqrt_ru(arg0: _TensorLike) -> tensor:
    """The square root, rounded down, to nearest, up, or towards zero."""
def rcp_ru(arg0: _TensorLike) -> tensor:
    """The reciprocal, rounded down, to nearest, up, or towards zero."""
def float2int_ru(arg0: _TensorLike) -> tensor:
    """Fp32 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def double2int_ru(arg0: _TensorLike) -> tensor:
    """Fp64 as int32, rounded down, to nearest, up, or towards zero; saturates."""
def int2float_ru(arg0: _TensorLike) -> tensor:
    """Int32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2uint_ru(arg0: _TensorLike) -> tensor:
    """Fp32 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def double2uint_ru(arg0: _TensorLike) -> tensor:
    """Fp64 as uint32, rounded down, to nearest, up, or towards zero; saturates."""
def uint2float_ru(arg0: _TensorLike) -> tensor:
    """Uint32 as fp32, rounded down, to nearest, up, or towards zero."""
def float2ll_ru(arg0: _TensorLike) -> tensor:
    """Fp32 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ll_ru(arg0: _TensorLike) -> tensor:
    """Fp64 as int64, rounded down, to nearest, up, or towards zero; saturates."""
def ll2float_ru(arg0: _TensorLike) -> tensor:
    """Int64 as fp32, rounded down, to nearest, up, or towards zero."""
def ll2double_ru(arg0: _TensorLike) -> tensor:
    """Int64 as fp64, rounded down, to nearest, up, or towards zero."""
def float2ull_ru(arg0: _TensorLike) -> tensor:
    """Fp32 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def double2ull_ru(arg0: _TensorLike) -> tensor:
    """Fp64 as uint64, rounded down, to nearest, up, or towards zero; saturates."""
def ull2float_ru(arg0: _TensorLike) -> tensor:
    """Uint64 as fp32, rounded down, to nearest, up, or towards zero."""
def ull2double_ru(arg0: _TensorLike) -> tensor:
    """Uint64 as fp64, rounded down, to nearest, up, or towards zero."""
def double2float_ru(arg0: _TensorLike) -> tensor:
    """Fp64 as fp32, rounded down, to nearest, up, or towards zero."""
def rsqrt_rn(arg0: _TensorLike) -> tensor:
    """1 / square root, rounded to nearest."""
def int2double_rn(arg0: _TensorLike) -> tensor:
    """An integer as fp64, exactly."""
def uint2double_rn(arg0: _TensorLike) -> tensor:
    """An integer as fp64, exactly."""
def float_as_int(arg0: _TensorLike) -> tensor:
    """The bits of an fp32 as an integer."""
def int_as_float(arg0: _TensorLike) -> tensor:
    """The bits of an integer as fp32."""
def float_as_uint(arg0: _TensorLike) -> tensor:
    """The bits of an fp32 as an integer."""
def uint_as_float(arg0: _TensorLike) -> tensor:
    """The bits of an integer as fp32."""
def longlong_as_double(arg0: _TensorLike) -> tensor:
    """The bits of an int64 as fp64."""
def double_as_longlong(arg0: _TensorLike) -> tensor:
    """The bits of an fp64 as int64."""
def hiloint2double(arg0: _TensorLike, arg1: _TensorLike) -> tensor:
    """An fp64 of the upper and the lower 32 bits."""
def double2loint(arg0: _TensorLike) -> tensor:
    """The upper, or the lower, 32 bits of an fp64."""
def double2hiint(arg0: _TensorLike) -> tensor:
    """The upper, or the lower, 32 bits of an fp64."""
def rcp64h(arg0: _TensorLike) -> tensor:
    """An approximate reciprocal of an fp64, from its upper half."""
def rnorm3d(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike) -> tensor:
    """1 / norm3d(x, y, z)."""
def rnorm4d(arg0: _TensorLike, arg1: _TensorLike, arg2: _TensorLike, arg3: _TensorLike) -> tensor:
    """1 / norm4d(x, y, z, w)."""
