"""Kernels that run on the interpreter are the same objects as others: which engine runs them is a setting of the launch."""

from .jit import JITFunction as InterpretedFunction

__all__ = ["InterpretedFunction"]
