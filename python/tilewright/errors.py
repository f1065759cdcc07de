"""All errors of the compiler and its runtime."""

from ._errors import (
    AutotunerError, CompilationError, CompileTimeAssertionFailure, InterpreterError, OutOfResources, PTXASError, TritonError,
    UnsupportedLanguageConstruct)

__all__ = [
    "TritonError", "CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "AutotunerError",
    "InterpreterError", "OutOfResources", "PTXASError",
]
