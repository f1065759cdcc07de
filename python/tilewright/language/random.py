"""Random numbers in kernels: Philox, and distributions made of it."""

from . import core as _core_module

globals().update(_core_module._members)
