"""`tl.extra.libdevice`: NVIDIA's device library by name; the CPU has its own functions for most of them."""

from ..core import members

globals().update(members("triton.language.extra.libdevice"))
