# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Literal
from ... import _DType as _DType, tensor as tensor

def globaltimer() -> tensor:
    """Returns the GPU's clock in nanoseconds, as int64."""
def smid() -> tensor:
    """Returns the index of the SM on which the program runs, as int32."""
def num_threads() -> int:
    """Returns the number of threads, or warps, of a program: num_warps of the launch.

    >>> tl.extra.cuda.num_threads() == 32 * tl.extra.cuda.num_warps()
    True
    """
def num_warps() -> int:
    """Returns the number of threads, or warps, of a program: num_warps of the launch.

    >>> tl.extra.cuda.num_threads() == 32 * tl.extra.cuda.num_warps()
    True
    """
def convert_custom_float8_sm80(arg: tensor, dst_ty: _DType, fp_downcast_rounding: Literal['rtne', 'rtz'] | None = None) -> tensor:
    """Converts from or to fp8e4b15. `x.to(...)` does the same.

    - arg: a tile.
    - dst_ty: the new type.
    - fp_downcast_rounding: as for `tl.cast`.

    >>> tl.extra.cuda.convert_custom_float8_sm80(tl.full((2,), 1.0, tl.float16), tl.float8e4b15).to(tl.float32)
    [1.0, 1.0]
    """
def convert_custom_float8_sm70(arg: tensor, dst_ty: _DType, fp_downcast_rounding: Literal['rtne', 'rtz'] | None = None) -> tensor:
    """Converts from or to fp8e4b15. `x.to(...)` does the same.

    - arg: a tile.
    - dst_ty: the new type.
    - fp_downcast_rounding: as for `tl.cast`.

    >>> tl.extra.cuda.convert_custom_float8_sm80(tl.full((2,), 1.0, tl.float16), tl.float8e4b15).to(tl.float32)
    [1.0, 1.0]
    """
def gdc_wait() -> None:
    """Waits until the previous kernel is done, if the two overlap (programmatic dependent launch, launch_pdl=True). Do not read its results before this call.
    On CPUs, launches do not overlap, and it does nothing.

    >>> tl.extra.cuda.gdc_wait()
    """
def gdc_launch_dependents() -> None:
    """Allows the next kernel to start while this one still runs (programmatic dependent launch).

    >>> tl.extra.cuda.gdc_launch_dependents()
    """

from . import gdc as gdc, libdevice as libdevice, utils as utils
