"""The root of all errors of the compiler and its runtime."""


class TritonError(Exception):
    pass


from .compiler.errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct  # noqa: E402
from .runtime.errors import AutotunerError, InterpreterError, OutOfResources, PTXASError  # noqa: E402

__all__ = [
    "TritonError", "CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "AutotunerError",
    "InterpreterError", "OutOfResources", "PTXASError",
]
