"""Functions that only some machines have, and libdevice."""

from . import cuda, libdevice

__all__ = ["cuda", "libdevice"]
