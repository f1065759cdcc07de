"""Where upstream's name for kernels that run on the interpreter is found: which engine runs a kernel is a setting from when it is made."""

from .jit import InterpretedFunction

__all__ = ["InterpretedFunction"]
