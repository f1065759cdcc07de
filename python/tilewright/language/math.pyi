# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from . import tensor as tensor

def exp(x: Any) -> tensor:
    """E to the power x.

    The exponential function: e, or 2, to the power x. On GPUs and CPUs alike `exp2` is the cheaper one, so loops that take many exponentials fold log2(e)
    into a factor that they have anyway.

    - x: a tile or a scalar of float32 or float64. Convert narrower floats first.

    >>> tl.exp(tl.arange(0, 2) * 1.0)
    [1.0, 2.71828]
    >>> tl.exp2(3.0)
    8.0
    >>> tl.exp(tl.zeros((4,), tl.float16))
    error: convert the argument first: .to(tl.float32)
    """
def exp2(x: Any) -> tensor:
    """2 to the power x.

    The exponential function: e, or 2, to the power x. On GPUs and CPUs alike `exp2` is the cheaper one, so loops that take many exponentials fold log2(e)
    into a factor that they have anyway.

    - x: a tile or a scalar of float32 or float64. Convert narrower floats first.

    >>> tl.exp(tl.arange(0, 2) * 1.0)
    [1.0, 2.71828]
    >>> tl.exp2(3.0)
    8.0
    >>> tl.exp(tl.zeros((4,), tl.float16))
    error: convert the argument first: .to(tl.float32)
    """
def log(x: Any) -> tensor:
    """Natural logarithm.

    The logarithm to base e, or to base 2. Of 0 it is -inf, of what is below 0 NaN.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.log2(8.0)
    3.0
    >>> tl.log(1.0)
    0.0
    """
def log2(x: Any) -> tensor:
    """Logarithm to base 2.

    The logarithm to base e, or to base 2. Of 0 it is -inf, of what is below 0 NaN.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.log2(8.0)
    3.0
    >>> tl.log(1.0)
    0.0
    """
def sin(x: Any) -> tensor:
    """Sine.

    The sine and the cosine of an angle in radians.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.sin(tl.arange(0, 2) * 1.5707964)
    [0.0, 1.0]
    >>> tl.cos(0.0)
    1.0
    """
def cos(x: Any) -> tensor:
    """Cosine.

    The sine and the cosine of an angle in radians.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.sin(tl.arange(0, 2) * 1.5707964)
    [0.0, 1.0]
    >>> tl.cos(0.0)
    1.0
    """
def sqrt(x: Any) -> tensor:
    """Square root.

    The square root, or 1 divided by it. On GPUs `rsqrt` is one instruction, `sqrt` an approximation that is right to about one unit in the last place;
    `tl.sqrt_rn` rounds.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.sqrt(16.0)
    4.0
    >>> tl.rsqrt(16.0)
    0.25
    """
def rsqrt(x: Any) -> tensor:
    """1 / square root.

    The square root, or 1 divided by it. On GPUs `rsqrt` is one instruction, `sqrt` an approximation that is right to about one unit in the last place;
    `tl.sqrt_rn` rounds.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.sqrt(16.0)
    4.0
    >>> tl.rsqrt(16.0)
    0.25
    """
def sqrt_rn(x: Any) -> tensor:
    """Fp32 square root, rounded to nearest.

    The square root of float32, rounded to the nearest number on every machine.

    - x: a tile or a scalar of float32.

    >>> tl.sqrt_rn(2.0)
    1.41421
    """
def erf(x: Any) -> tensor:
    """Error function.

    The error function, of which the exact GELU is made: `0.5 * x * (1 + tl.erf(x * 0.70710678))`.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.erf(tl.arange(0, 2) * 1.0)
    [0.0, 0.842701]
    """
def floor(x: Any) -> tensor:
    """The next integral value below.

    The next integral value below, or above, as a float.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.floor(-1.5)
    -2.0
    >>> tl.ceil(-1.5)
    -1.0
    """
def ceil(x: Any) -> tensor:
    """The next integral value above.

    The next integral value below, or above, as a float.

    - x: a tile or a scalar of float32 or float64.

    >>> tl.floor(-1.5)
    -2.0
    >>> tl.ceil(-1.5)
    -1.0
    """
def abs(x: Any) -> tensor:
    """Absolute value.

    The absolute value.

    - x: a tile or a scalar of integers or floats. Of a signed integer, the smallest value stays what it is.

    >>> tl.abs(tl.arange(0, 4) - 2)
    [2, 1, 0, 1]
    """
def fdiv(x: Any, y: Any, ieee_rounding: Any = ..., approx: Any = ...) -> tensor:
    """Float division.

    Division of floats, where a GPU may take the faster instruction.

    - x, y: floats.
    - ieee_rounding: True rounds as IEEE asks for. CPUs always do.
    - approx: True allows an approximation; it excludes ieee_rounding.

    >>> tl.fdiv(1.0, 4.0)
    0.25
    """
def div_rn(x: Any, y: Any) -> tensor:
    """Fp32 division, rounded to nearest.

    Division of float32, rounded to the nearest number on every machine.

    - x, y: float32.

    >>> tl.div_rn(1.0, 4.0)
    0.25
    """
def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of an unsigned product.

    The upper half of the product of two unsigned integers, which their own type does not hold. Hashes and random numbers are made with it.

    - x, y: integers of 32 or 64 bits, taken as unsigned.

    >>> tl.umulhi(tl.full((1,), 1 << 31, tl.uint32), tl.full((1,), 6, tl.uint32))
    [3]
    """
def fma(x: Any, y: Any, z: Any) -> tensor:
    """X * y + z.

    x * y + z with one rounding in place of two.

    - x, y, z: floats, broadcast to a common shape.

    >>> tl.fma(2.0, 3.0, 1.0)
    7.0
    """
