# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from ... import tensor as tensor

def globaltimer() -> tensor:
    """The GPU's clock in nanoseconds."""
def smid() -> tensor:
    """Which multiprocessor this is."""
def num_threads() -> tensor:
    """Threads of a program."""
def num_warps() -> tensor:
    """Warps of a program."""
def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = ...) -> tensor:
    """Conversion from or to fp8e4b15."""
def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = ...) -> tensor:
    """Conversion from or to fp8e4b15."""
def gdc_wait() -> tensor:
    """Wait for the kernel before this one."""
def gdc_launch_dependents() -> tensor:
    """Let the next kernel start."""
