# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any, Callable
from . import language as language, testing as testing

class Config:
    """Values of constexpr parameters and launch options that @autotune may choose."""
    kwargs: dict[str, Any]
    def __init__(self, kwargs: dict[str, Any], num_warps: int = ..., num_stages: int = ..., num_ctas: int = ..., maxnreg: int | None = ...,
                 pre_hook: Callable[..., Any] | None = ..., **others: Any) -> None: ...

class KernelInterface(Any):
    def __getitem__(self, grid: Any) -> Callable[..., Any]: ...

class JITFunction(KernelInterface):
    """A kernel, or a function that kernels call. `kernel[grid](...)` launches it."""

class engine:
    """`with engine("interpret"):` runs kernels on the reference interpreter, "simulate" as simulated GPU code."""
    def __init__(self, name: str, check_bounds: bool = ..., target: str | None = ...) -> None: ...
    def __enter__(self) -> engine: ...
    def __exit__(self, *exception: Any) -> None: ...

def jit(fn: Any = ..., **options: Any) -> Any: ...
def constexpr_function(fn: Any) -> Any: ...
def aggregate(cls: Any) -> Any:
    """Makes a class of annotated fields a value of the language: kernels make instances of it, call its methods, return them."""
class AsyncCompileMode(Any): ...
def autotune(configs: Any, key: Any, prune_configs_by: Any = ..., reset_to_zero: Any = ..., restore_value: Any = ..., pre_hook: Any = ..., post_hook: Any = ..., warmup: Any = ..., rep: Any = ..., use_cuda_graph: Any = ..., do_bench: Any = ..., cache_results: Any = ...) -> Any:
    """Measures `configs` and chooses the fastest, separately for each combination of values of the parameters named in `key`."""
cdiv: Any
class CompilationError(Any): ...
def compile(src: Any, target: Any = ..., options: Any = ..., _env_vars: Any = ...) -> Any:
    """Compiles an ASTSource, or the .ttir file of a path, for a GPUTarget (None: the active driver's), and returns a CompiledKernel."""
class FutureKernel(Any): ...
def heuristics(values: Any) -> Any:
    """`@heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})`: rules for constexpr parameters."""
def install() -> Any:
    """Makes `import triton` give Tilewright in this process and in those that it starts. A Triton that was imported before is replaced."""
class InterpreterError(Any): ...
knobs: Any
class MockTensor(Any): ...
def must_use_result(x: Any, s: Any = ...) -> Any:
    """Marks a function whose result must be used."""
next_power_of_2: Any
class OutOfResources(Any): ...
def reinterpret(tensor: Any, dtype: Any) -> Any:
    """The same memory with elements of another type of the same size: `reinterpret(bytes, tl.float8e5)`."""
runtime: Any
def set_allocator(allocator: Any) -> Any:
    ...
class TensorWrapper(Any): ...
tools: Any
class TritonError(Any): ...
tilewright_version: Any
triton_version: Any
