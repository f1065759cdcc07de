"""Functions of particular machines, and libdevice."""

from . import cuda, libdevice

__all__ = ["cuda", "libdevice"]
