"""What is wrong with a kernel, as an exception that shows where."""

from .._errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct, compilation_error

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "compilation_error"]
