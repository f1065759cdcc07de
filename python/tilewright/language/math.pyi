# Written by tools/stubs.py from the tables of builtins: edit those.
from . import _TensorLike as _TensorLike, tensor as tensor

def exp(x: _TensorLike) -> tensor:
    """Computes e, or 2, to the power x. `exp2` is cheaper on GPUs and CPUs. A loop with many exponentials can multiply an existing factor by log2(e) and
    use `exp2`.

    - x: a tile or a scalar of fp32 or fp64. Convert narrower floats first.

    >>> tl.exp(tl.arange(0, 2) * 1.0)
    [1.0, 2.71828]
    >>> tl.exp2(3.0)
    8.0
    >>> tl.exp(tl.zeros((4,), tl.float16))
    error: convert the argument first: .to(tl.float32)
    """
def exp2(x: _TensorLike) -> tensor:
    """Computes e, or 2, to the power x. `exp2` is cheaper on GPUs and CPUs. A loop with many exponentials can multiply an existing factor by log2(e) and
    use `exp2`.

    - x: a tile or a scalar of fp32 or fp64. Convert narrower floats first.

    >>> tl.exp(tl.arange(0, 2) * 1.0)
    [1.0, 2.71828]
    >>> tl.exp2(3.0)
    8.0
    >>> tl.exp(tl.zeros((4,), tl.float16))
    error: convert the argument first: .to(tl.float32)
    """
def log(x: _TensorLike) -> tensor:
    """Computes the logarithm to base e, or to base 2. The logarithm of 0 is -inf, and that of a negative number is NaN.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.log2(8.0)
    3.0
    >>> tl.log(1.0)
    0.0
    """
def log2(x: _TensorLike) -> tensor:
    """Computes the logarithm to base e, or to base 2. The logarithm of 0 is -inf, and that of a negative number is NaN.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.log2(8.0)
    3.0
    >>> tl.log(1.0)
    0.0
    """
def sin(x: _TensorLike) -> tensor:
    """Computes the sine or the cosine of an angle in radians.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sin(tl.arange(0, 2) * 1.5707964)
    [0.0, 1.0]
    >>> tl.cos(0.0)
    1.0
    """
def cos(x: _TensorLike) -> tensor:
    """Computes the sine or the cosine of an angle in radians.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sin(tl.arange(0, 2) * 1.5707964)
    [0.0, 1.0]
    >>> tl.cos(0.0)
    1.0
    """
def sqrt(x: _TensorLike) -> tensor:
    """Computes the square root, or 1 divided by it. On GPUs, `rsqrt` is one instruction, and `sqrt` is an approximation within about one unit in the last
    place. `tl.sqrt_rn` rounds to nearest.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sqrt(16.0)
    4.0
    >>> tl.rsqrt(16.0)
    0.25
    """
def rsqrt(x: _TensorLike) -> tensor:
    """Computes the square root, or 1 divided by it. On GPUs, `rsqrt` is one instruction, and `sqrt` is an approximation within about one unit in the last
    place. `tl.sqrt_rn` rounds to nearest.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.sqrt(16.0)
    4.0
    >>> tl.rsqrt(16.0)
    0.25
    """
def sqrt_rn(x: _TensorLike) -> tensor:
    """Computes the square root of fp32 values, rounded to nearest on every machine.

    - x: a tile or a scalar of fp32.

    >>> tl.sqrt_rn(2.0)
    1.41421
    """
def erf(x: _TensorLike) -> tensor:
    """Computes the error function. The exact GELU uses it: `0.5 * x * (1 + tl.erf(x * 0.70710678))`.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.erf(tl.arange(0, 2) * 1.0)
    [0.0, 0.842701]
    """
def floor(x: _TensorLike) -> tensor:
    """Rounds down, or up, to an integral value, as a float.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.floor(-1.5)
    -2.0
    >>> tl.ceil(-1.5)
    -1.0
    """
def ceil(x: _TensorLike) -> tensor:
    """Rounds down, or up, to an integral value, as a float.

    - x: a tile or a scalar of fp32 or fp64.

    >>> tl.floor(-1.5)
    -2.0
    >>> tl.ceil(-1.5)
    -1.0
    """
def abs(x: _TensorLike) -> tensor:
    """Returns the absolute value.

    - x: a tile or a scalar of integers or floats. The smallest value of a signed integer type stays negative.

    >>> tl.abs(tl.arange(0, 4) - 2)
    [2, 1, 0, 1]
    """
def fdiv(x: _TensorLike, y: _TensorLike, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """Divides floats. A GPU may use its faster, approximate instruction.

    - x, y: floats.
    - ieee_rounding: True rounds as IEEE 754 requires. CPUs always do.
    - approx: True allows an approximation. It excludes ieee_rounding.

    >>> tl.fdiv(1.0, 4.0)
    0.25
    """
def div_rn(x: _TensorLike, y: _TensorLike) -> tensor:
    """Divides fp32 values, rounded to nearest on every machine.

    - x, y: fp32.

    >>> tl.div_rn(1.0, 4.0)
    0.25
    """
def umulhi(x: _TensorLike, y: _TensorLike) -> tensor:
    """Returns the upper half of the product of two unsigned integers. Hashes and random number generators use it.

    - x, y: integers of 32 or 64 bits, interpreted as unsigned.

    >>> tl.umulhi(tl.full((1,), 1 << 31, tl.uint32), tl.full((1,), 6, tl.uint32))
    [3]
    """
def fma(x: _TensorLike, y: _TensorLike, z: _TensorLike) -> tensor:
    """Computes x * y + z with one rounding.

    - x, y, z: floats, broadcast to a common shape.

    >>> tl.fma(2.0, 3.0, 1.0)
    7.0
    """
