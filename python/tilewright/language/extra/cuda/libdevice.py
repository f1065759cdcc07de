"""The same functions as `tl.extra.libdevice`."""

from ...core import members

globals().update(members("triton.language.extra.libdevice"))
