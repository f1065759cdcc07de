# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from ... import tensor as tensor

def globaltimer() -> tensor:
    """The GPU's clock in nanoseconds.

    A GPU's clock in nanoseconds, as int64.
    """
def smid() -> tensor:
    """Which multiprocessor this is.

    Which multiprocessor of a GPU the program runs on, as int32.
    """
def num_threads() -> tensor:
    """Threads of a program.

    How many threads, or warps, a program has on the target: num_warps of the launch.

    >>> tl.extra.cuda.num_threads() == 32 * tl.extra.cuda.num_warps()
    True
    """
def num_warps() -> tensor:
    """Warps of a program.

    How many threads, or warps, a program has on the target: num_warps of the launch.

    >>> tl.extra.cuda.num_threads() == 32 * tl.extra.cuda.num_warps()
    True
    """
def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = ...) -> tensor:
    """Conversion from or to fp8e4b15.

    Conversion from or to float8e4b15. `x.to(...)` does it without being asked.

    - arg: a tile.
    - dst_ty: the new type.
    - fp_downcast_rounding: as for `tl.cast`.

    >>> tl.extra.cuda.convert_custom_float8_sm80(tl.full((2,), 1.0, tl.float16), tl.float8e4b15).to(tl.float32)
    [1.0, 1.0]
    """
def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = ...) -> tensor:
    """Conversion from or to fp8e4b15.

    Conversion from or to float8e4b15. `x.to(...)` does it without being asked.

    - arg: a tile.
    - dst_ty: the new type.
    - fp_downcast_rounding: as for `tl.cast`.

    >>> tl.extra.cuda.convert_custom_float8_sm80(tl.full((2,), 1.0, tl.float16), tl.float8e4b15).to(tl.float32)
    [1.0, 1.0]
    """
def gdc_wait() -> tensor:
    """Wait for the kernel before this one.

    Waits until the kernel before this one is done, where they overlap (programmatic dependent launch; launch_pdl=True). Nothing of its results may be
    read before. On CPUs it does nothing: one launch follows the other.

    >>> tl.extra.cuda.gdc_wait()
    """
def gdc_launch_dependents() -> tensor:
    """Let the next kernel start.

    Lets the next kernel begin while this one still runs (programmatic dependent launch).

    >>> tl.extra.cuda.gdc_launch_dependents()
    """
