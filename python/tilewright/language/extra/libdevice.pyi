# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from .. import tensor as tensor

def acos(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def acosh(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def asin(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def asinh(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def atan(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def atanh(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def cbrt(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ceil(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def cos(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def cosh(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def cospi(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def erf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def erfc(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def erfcinv(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def erfcx(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def erfinv(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def exp(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def exp10(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def exp2(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def expm1(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def floor(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def lgamma(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def log(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def log10(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def log1p(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def log2(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def logb(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def nearbyint(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def normcdf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def normcdfinv(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rcbrt(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rint(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def round(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rsqrt(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sin(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sinh(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sinpi(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sqrt(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def tan(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def tanh(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def tgamma(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def trunc(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def j0(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def j1(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def y0(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def y1(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def cyl_bessel_i0(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def cyl_bessel_i1(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def atan2(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def copysign(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fdim(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fmod(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def hypot(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def nextafter(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def pow(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def remainder(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rhypot(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fma(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def abs(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def min(arg0: Any, arg1: Any) -> Any:
    """The function of this name of NVIDIA's libdevice."""
def max(arg0: Any, arg1: Any) -> Any:
    """The function of this name of NVIDIA's libdevice."""
def ldexp(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def scalbn(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ilogb(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def isnan(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def isinf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def finitef(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def isfinited(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def signbit(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def saturatef(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def llrint(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def llround(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def norm3d(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def norm4d(arg0: Any, arg1: Any, arg2: Any, arg3: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def jn(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def yn(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def clz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def popc(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def brev(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ffs(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def byte_perm(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def mulhi(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def mul24(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sad(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def hadd(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rhadd(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_sinf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_cosf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_log2f(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_logf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_expf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_tanf(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_exp10f(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_log10f(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_powf(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fast_dividef(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def add_rn(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sub_rn(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def mul_rn(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def div_rn(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fma_rn(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sqrt_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rcp_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2int_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2int_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def int2float_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2uint_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2uint_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def uint2float_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ll_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ll_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2float_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2double_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ull_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ull_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2float_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2double_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2float_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def add_rz(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sub_rz(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def mul_rz(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def div_rz(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fma_rz(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sqrt_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rcp_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2int_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2int_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def int2float_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2uint_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2uint_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def uint2float_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ll_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ll_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2float_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2double_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ull_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ull_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2float_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2double_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2float_rz(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def add_rd(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sub_rd(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def mul_rd(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def div_rd(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fma_rd(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sqrt_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rcp_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2int_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2int_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def int2float_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2uint_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2uint_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def uint2float_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ll_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ll_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2float_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2double_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ull_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ull_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2float_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2double_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2float_rd(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def add_ru(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sub_ru(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def mul_ru(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def div_ru(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def fma_ru(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def sqrt_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rcp_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2int_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2int_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def int2float_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2uint_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2uint_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def uint2float_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ll_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ll_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2float_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ll2double_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float2ull_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2ull_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2float_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def ull2double_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2float_ru(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rsqrt_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def int2double_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def uint2double_rn(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float_as_int(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def int_as_float(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def float_as_uint(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def uint_as_float(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def longlong_as_double(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double_as_longlong(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def hiloint2double(arg0: Any, arg1: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2loint(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def double2hiint(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rcp64h(arg0: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
def rnorm3d(arg0: Any, arg1: Any, arg2: Any) -> tensor:
    """The function of this name of NVIDIA's libdevice."""
