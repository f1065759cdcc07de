"""Upstream's module for kernels on the interpreter, with the name of its class. A setting decides when a kernel is made which engine runs it."""

from .jit import InterpretedFunction

__all__ = ["InterpretedFunction"]
