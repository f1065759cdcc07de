"""Random numbers of kernels: Philox and what is made of it."""

from . import core as _core_module

globals().update(_core_module._members)
