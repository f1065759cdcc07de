"""Tilewright: the Triton tile language with its own compiler.

    import tilewright as triton
    import tilewright.language as tl
"""

from . import _core

__version__ = tilewright_version = _core.__version__  # Tilewright's. `triton.tilewright_version` exists only where `import triton` gives Tilewright.
triton_version = _core.triton_version  # the release of Triton that `triton.__version__` reports: TILEWRIGHT_TRITON_VERSION or the default

from .errors import TritonError  # noqa: E402
from . import knobs, language  # noqa: E402
from .runtime import (  # noqa: E402
    Config, InterpreterError, JITFunction, KernelInterface, MockTensor, OutOfResources, TensorWrapper, autotune, heuristics, reinterpret,
    set_allocator)
from .runtime.jit import CeilingDivision, constexpr_function, jit  # noqa: E402
from .runtime._async_compile import AsyncCompileMode, FutureKernel  # noqa: E402
from .compiler import CompilationError, compile  # noqa: E402
from . import _C, runtime, testing, tools  # noqa: E402
from ._engine import engine  # noqa: E402
from ._alias import install  # noqa: E402
from ._inductor import register as _register_backend  # noqa: E402

must_use_result = language.core.must_use_result
aggregate = language.aggregate.aggregate


@CeilingDivision
def cdiv(x, y):
    """x / y for two ints, rounded up to an int."""
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n):
    """The smallest power of two that is not below the int n."""
    return 1 << (n - 1).bit_length() if n > 0 else 0


_register_backend()

__all__ = [
    "aggregate", "AsyncCompileMode", "autotune", "cdiv", "CompilationError", "compile", "Config", "constexpr_function", "engine",
    "FutureKernel", "heuristics", "install", "InterpreterError", "jit", "JITFunction", "KernelInterface", "knobs", "language",
    "MockTensor", "must_use_result", "next_power_of_2", "OutOfResources", "reinterpret", "runtime", "set_allocator", "TensorWrapper",
    "testing", "tools", "TritonError",
]
