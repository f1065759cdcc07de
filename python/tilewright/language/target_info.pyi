# Written by tools/stubs.py from the tables of builtins: edit those.
from ..backends.compiler import GPUTarget

def current_target() -> str | GPUTarget | None:
    """Returns the name of the target, known at compile time: "cuda" or "cpu".

    >>> tl.static_print(tl.target_info.current_target())
    """
def is_cuda() -> bool:
    """Returns whether the target is an NVIDIA GPU. The value is known at compile time, so an `if` on it compiles one branch.

    >>> tl.arange(0, 2 if tl.target_info.is_cuda() else 2)
    [0, 1]
    """
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Returns whether the target is an NVIDIA GPU of this compute capability or a later one, known at compile time.

    - major, minor: 9 and 0 for Hopper.

    >>> tl.target_info.cuda_capability_geq(1000)
    False
    """
def is_hip() -> bool:
    """Returns whether the target is an AMD GPU, or a kind of it. The result is always False.

    >>> tl.target_info.is_hip()
    False
    """
def is_hip_cdna3() -> bool:
    """Returns whether the target is an AMD GPU, or a kind of it. The result is always False.

    >>> tl.target_info.is_hip()
    False
    """
def is_hip_cdna4() -> bool:
    """Returns whether the target is an AMD GPU, or a kind of it. The result is always False.

    >>> tl.target_info.is_hip()
    False
    """
def is_hip_gfx1250() -> bool:
    """Returns whether the target is an AMD GPU, or a kind of it. The result is always False.

    >>> tl.target_info.is_hip()
    False
    """
