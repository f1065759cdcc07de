"""Targets and drivers, as far as one machine (this CPU) needs them."""

from .compiler import GPUTarget

__all__ = ["GPUTarget"]
