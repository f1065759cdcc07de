# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from . import tensor as tensor

def current_target() -> tensor:
    """The target's name.

    The name of the target that the kernel is compiled for, known at compile time: "cuda" or "cpu".

    >>> tl.static_print(tl.target_info.current_target())
    """
def is_cuda() -> tensor:
    """Whether the target is an NVIDIA GPU.

    Whether the target is an NVIDIA GPU, known at compile time: an `if` on it is decided while compiling.

    >>> tl.arange(0, 2 if tl.target_info.is_cuda() else 2)
    [0, 1]
    """
def cuda_capability_geq(major: Any, minor: Any = ...) -> tensor:
    """Whether the target is an NVIDIA GPU of this capability or a later one.

    Whether the target is an NVIDIA GPU of this compute capability or a later one, known at compile time.

    - major, minor: 9 and 0 for Hopper.

    >>> tl.target_info.cuda_capability_geq(1000)
    False
    """
def is_hip() -> tensor:
    """Whether the target is an AMD GPU.

    Whether the target is an AMD GPU, or one of a kind. It never is: kernels that ask take their other branch.

    >>> tl.target_info.is_hip()
    False
    """
def is_hip_cdna3() -> tensor:
    """Whether the target is an AMD MI300.

    Whether the target is an AMD GPU, or one of a kind. It never is: kernels that ask take their other branch.

    >>> tl.target_info.is_hip()
    False
    """
def is_hip_cdna4() -> tensor:
    """Whether the target is an AMD MI350.

    Whether the target is an AMD GPU, or one of a kind. It never is: kernels that ask take their other branch.

    >>> tl.target_info.is_hip()
    False
    """
def is_hip_gfx1250() -> tensor:
    """Whether the target is an AMD GPU of that name.

    Whether the target is an AMD GPU, or one of a kind. It never is: kernels that ask take their other branch.

    >>> tl.target_info.is_hip()
    False
    """
