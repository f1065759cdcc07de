from .compiler import ASTSource, CompiledKernel, IRSource, compile, make_backend
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = [
    "ASTSource", "compile", "CompilationError", "CompiledKernel", "CompileTimeAssertionFailure", "IRSource", "make_backend",
    "UnsupportedLanguageConstruct",
]
