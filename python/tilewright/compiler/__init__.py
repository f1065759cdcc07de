from .compiler import ASTSource, CompiledKernel, IRSource, LazyDict, compile, get_cache_key, make_backend, max_shared_mem
from .errors import CompilationError, CompileTimeAssertionFailure, UnsupportedLanguageConstruct

__all__ = [
    "ASTSource", "compile", "CompilationError", "CompiledKernel", "CompileTimeAssertionFailure", "get_cache_key", "IRSource", "LazyDict",
    "make_backend", "max_shared_mem",
    "UnsupportedLanguageConstruct",
]
