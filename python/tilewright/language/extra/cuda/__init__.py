"""Functions that only NVIDIA GPUs have."""

from ...core import members
from . import libdevice

globals().update(members("triton.language.extra.cuda"))
