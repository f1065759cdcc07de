# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from . import tensor as tensor

def exp(x: Any) -> tensor:
    """E to the power x."""
def exp2(x: Any) -> tensor:
    """2 to the power x."""
def log(x: Any) -> tensor:
    """Natural logarithm."""
def log2(x: Any) -> tensor:
    """Logarithm to base 2."""
def sin(x: Any) -> tensor:
    """Sine."""
def cos(x: Any) -> tensor:
    """Cosine."""
def sqrt(x: Any) -> tensor:
    """Square root."""
def rsqrt(x: Any) -> tensor:
    """1 / square root."""
def sqrt_rn(x: Any) -> tensor:
    """Fp32 square root, rounded to nearest."""
def erf(x: Any) -> tensor:
    """Error function."""
def floor(x: Any) -> tensor:
    """The next integral value below."""
def ceil(x: Any) -> tensor:
    """The next integral value above."""
def abs(x: Any) -> tensor:
    """Absolute value."""
def fdiv(x: Any, y: Any, ieee_rounding: Any = ...) -> tensor:
    """Float division."""
def div_rn(x: Any, y: Any) -> tensor:
    """Fp32 division, rounded to nearest."""
def umulhi(x: Any, y: Any) -> tensor:
    """The upper half of an unsigned product."""
def fma(x: Any, y: Any, z: Any) -> tensor:
    """X * y + z."""
