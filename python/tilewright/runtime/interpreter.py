"""Upstream's module for kernels on the interpreter, with the name of its class. A setting chooses the engine when a kernel is created."""

from .jit import InterpretedFunction

__all__ = ["InterpretedFunction"]
