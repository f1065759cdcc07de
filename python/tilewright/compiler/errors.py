"""The exceptions for errors in kernels, which show the place in the source."""

from .._errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct, compilation_error

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "compilation_error"]
