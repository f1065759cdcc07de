"""Functions that only NVIDIA GPUs have."""

from ...core import members
from . import gdc, libdevice, utils

globals().update(members("triton.language.extra.cuda"))
