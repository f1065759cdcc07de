# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from . import tensor as tensor

def current_target() -> tensor:
    """The target's name."""
def is_cuda() -> tensor:
    """Whether the target is an NVIDIA GPU."""
def cuda_capability_geq(major: Any, minor: Any = ...) -> tensor:
    """Whether the target is an NVIDIA GPU of this capability or a later one."""
def is_hip() -> tensor:
    """Whether the target is an AMD GPU."""
def is_hip_cdna3() -> tensor:
    """Whether the target is an AMD MI300."""
def is_hip_cdna4() -> tensor:
    """Whether the target is an AMD MI350."""
def is_hip_gfx1250() -> tensor:
    """Whether the target is an AMD GPU of that name."""
