# Written by tools/stubs.py from the tables of builtins: edit those.
from types import ModuleType
import inspect
from typing import Any, Callable, Generic, Iterable, Literal, Mapping, Sequence, TypeAlias, TypeVar, overload
from typing_extensions import dataclass_transform
from . import backends as backends, compiler as compiler, errors as errors, knobs as knobs, language as language, runtime as runtime, testing as testing, tools as tools
from ._errors import CompilationError as CompilationError, InterpreterError as InterpreterError, OutOfResources as OutOfResources, TritonError as TritonError
from .backends.compiler import GPUTarget
from .compiler.compiled import CompiledKernel
from .compiler.sources import ASTSource, IRSource
from .language import dtype as _dtype
from .runtime._async_compile import AsyncCompileMode as AsyncCompileMode, FutureKernel as FutureKernel

_R = TypeVar("_R")
_C = TypeVar("_C", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., object])
_Grid: TypeAlias = Sequence[int] | Callable[[dict[str, Any]], Sequence[int]]  # one to three extents
_Hook: TypeAlias = Callable[..., object]

__version__: str
tilewright_version: str
triton_version: str

class Config:
    """One way to compile a kernel: values for its constexpr parameters, and launch options.

    pre_hook: a function of the dict of arguments by name, called before each run. Options of GPUs are stored, and the CPU ignores
    those that it does not have. num_cpu_threads: the number of workers on a CPU; 0 for all.
    """
    kwargs: dict[str, Any]
    num_warps: int
    num_stages: int
    num_ctas: int
    maxnreg: int | None
    pre_hook: Callable[[dict[str, Any]], object] | None
    ir_override: str | None
    num_cpu_threads: int
    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3, num_ctas: int = 1, maxnreg: int | None = None, pre_hook: Callable[[dict[str, Any]], object] | None = None, ir_override: str | None = None, num_cpu_threads: int = 0) -> None: ...
    def all_kwargs(self) -> dict[str, Any]: ...

class KernelInterface(Generic[_R]):
    """The base class of objects that are launched by `kernel[grid](...)`."""
    def __getitem__(self, grid: _Grid) -> Callable[..., CompiledKernel]: ...
    def run(self, *args: Any, grid: _Grid | None, warmup: bool | str, **kwargs: Any) -> CompiledKernel: ...
    def warmup(self, *args: Any, grid: _Grid | None = None, **kwargs: Any) -> Any: ...

class JITFunction(KernelInterface[_R]):
    """A kernel, or a function that kernels call. `kernel[grid](...)` launches it."""
    __name__: str
    __qualname__: str
    fn: Callable[..., _R]
    signature: inspect.Signature
    module: str
    src: str
    raw_src: list[str]
    file_name: str
    starting_line_number: int
    params: list[Any]
    arg_names: list[str]
    constexprs: list[int]
    version: str | None
    debug: bool | None
    noinline: bool
    any_size: bool
    do_not_specialize: list[int | str]
    do_not_specialize_on_alignment: list[int | str]
    launch_metadata: Callable[..., object] | None
    pre_run_hooks: list[_Hook]
    cache_key: str
    hash: str | None
    device_caches: Mapping[int, Any]
    def __init__(self, fn: Callable[..., _R], version: str | None = None, do_not_specialize: Iterable[int | str] | None = None, do_not_specialize_on_alignment: Iterable[int | str] | None = None, debug: bool | None = None, noinline: bool | None = None, repr: Callable[..., str] | None = None, launch_metadata: Callable[..., object] | None = None, any_size: bool = False) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> _R: ...
    def warmup(self, *args: Any, grid: _Grid | None = None, **kwargs: Any) -> CompiledKernel: ...
    def add_pre_run_hook(self, hook: _Hook) -> None: ...
    def preload(self, specialization_data: str) -> CompiledKernel | None: ...
    def repr(self, _: object = None) -> str: ...

class Autotuner(KernelInterface[_R]):
    __name__: str
    fn: KernelInterface[_R]
    base_fn: Callable[..., _R]
    arg_names: list[str]
    configs: list[Config]
    keys: list[str]
    cache: dict[Any, Config]
    best_config: Config
    configs_timings: dict[Config, Any]
    bench_time: float | None
    cache_results: bool
    def __call__(self, *args: Any, **kwargs: Any) -> _R: ...

class Heuristics(KernelInterface[_R]):
    __name__: str
    fn: KernelInterface[_R]
    arg_names: list[str]
    values: Mapping[str, Callable[[dict[str, Any]], object]]
    def __call__(self, *args: Any, **kwargs: Any) -> _R: ...

class MockTensor:
    """Replaces a tensor of an element type in warm-ups, which use only types."""
    dtype: Any
    shape: Sequence[int]
    def __init__(self, dtype: object, shape: Sequence[int] | None = None) -> None: ...
    @classmethod
    def wrap_dtype(cls, value: object) -> Any: ...
    def stride(self) -> tuple[int, ...]: ...
    @staticmethod
    def data_ptr() -> int: ...
    @staticmethod
    def ptr_range() -> int: ...

class TensorWrapper:
    """A tensor whose elements are read as another type of the same size. `base` is the tensor; other attributes are its own (shape, device, stride())."""
    base: Any
    dtype: _dtype
    def __init__(self, base: object, dtype: _dtype) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class ConstexprFunction(Generic[_Function]):
    fn: _Function
    __call__: _Function
    def __get__(self, instance: object, owner: type | None = None) -> Any: ...
    __name__: str
    src: str
    cache_key: str
    def __init__(self, fn: _Function) -> None: ...

class engine:
    """`with tilewright.engine("interpret"):` runs kernels on the reference interpreter instead of compiled code ("cpu").

    "simulate" compiles them for a GPU (`target`, such as "cuda:sm_80"; None: Hopper) and runs its threads one by one on the CPU, with the host's arrays as its
    memory; races and deadlocks are errors. It is slow and exact: It tests GPU code on machines without a GPU.
    check_bounds: the interpreter and the simulator report out-of-bounds accesses through an argument, races between programs,
    and loops that wait forever. An argument with an unknown extent is named in a warning, and not checked. A pointer that was loaded
    from memory may access all memory of the process.
    """
    def __init__(self, name: Literal["cpu", "interpret", "simulate"], check_bounds: bool = False, target: str | None = None) -> None: ...
    def __enter__(self) -> engine: ...
    def __exit__(self, *exception: object) -> None: ...

@overload
def jit(fn: Callable[..., _R]) -> JITFunction[_R]:
    """Marks a function as a kernel, or as a function that kernels call.

    repr: a function that returns the name of a specialization. launch_metadata: a function of (grid, metadata, args) for
    profilers. do_not_specialize: parameters whose values must not lead to new code. debug: keep device_assert and overflow
    checks. noinline: keep calls to this function as calls. any_size: tiles of this kernel may have sizes other than powers of two
    (beyond upstream).
    """
@overload
def jit(fn: None = None, *, version: str | None = None, repr: Callable[..., str] | None = None, launch_metadata: Callable[..., object] | None = None, do_not_specialize: Iterable[int | str] | None = None, do_not_specialize_on_alignment: Iterable[int | str] | None = None, debug: bool | None = None, noinline: bool | None = None, any_size: bool = False) -> Callable[[Callable[..., _R]], JITFunction[_R]]:
    """Marks a function as a kernel, or as a function that kernels call.

    repr: a function that returns the name of a specialization. launch_metadata: a function of (grid, metadata, args) for
    profilers. do_not_specialize: parameters whose values must not lead to new code. debug: keep device_assert and overflow
    checks. noinline: keep calls to this function as calls. any_size: tiles of this kernel may have sizes other than powers of two
    (beyond upstream).
    """
def autotune(configs: Sequence[Config] | Literal["auto"], key: Sequence[str], prune_configs_by: Mapping[str, Callable[..., object] | float | None] | None = None, reset_to_zero: Sequence[str] | None = None, restore_value: Sequence[str] | None = None, pre_hook: _Hook | None = None, post_hook: _Hook | None = None, warmup: float | None = None, rep: float | None = None, use_cuda_graph: bool = False, do_bench: Callable[..., object] | None = None, cache_results: bool | None = None) -> Callable[[KernelInterface[_R]], Autotuner[_R]]:
    """Measures `configs` and chooses the fastest, separately for each combination of values of the parameters named in `key`.

    configs="auto": nothing is measured; the constexpr parameters that a launch leaves open, and whose names speak of blocks, tiles or
    groups, get sizes by an estimate. Two combinations run once and are compared: if their results differ, the launch is refused.
    prune_configs_by: {"early_config_prune": function, "perf_model": function, "top_k": number}. reset_to_zero, restore_value:
    names of tensors to zero before, or to restore after, each measured run. pre_hook(kwargs, reset_only), post_hook(kwargs, exception)
    replace both. do_bench(call, quantiles) measures. cache_results: if True, results are stored on disk; the default is
    True unless one of the above replaces the tuner's own measurement. TILEWRIGHT_CACHE_AUTOTUNING=0 turns it off.
    """
def heuristics(values: Mapping[str, Callable[[dict[str, Any]], object]]) -> Callable[[KernelInterface[_R]], Heuristics[_R]]:
    """`@heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})`: rules for constexpr parameters."""
@dataclass_transform()
def aggregate(cls: _C) -> _C:
    """Makes a class of annotated fields a value of the language: kernels make instances of it, call its methods, return them."""
@overload
def must_use_result(x: _Function, s: bool | str = True) -> _Function:
    """Marks a function whose result must be used."""
@overload
def must_use_result(x: str, s: bool | str = True) -> Callable[[_Function], _Function]:
    """Marks a function whose result must be used."""
def constexpr_function(fn: _Function) -> ConstexprFunction[_Function]:
    """Lets kernels call a Python function at compile time, with constants as arguments and as result."""
def cdiv(x: int, y: int) -> int:
    """x / y for two ints, rounded up to an int."""
def next_power_of_2(n: int) -> int:
    """The smallest power of two that is not below the int n."""
def compile(src: str | ASTSource | IRSource, target: GPUTarget | None = None, options: Mapping[str, object] | None = None, _env_vars: Mapping[str, str] | None = None) -> CompiledKernel:
    """Compiles an ASTSource, or the .ttir file of a path, for a GPUTarget (None: the active driver's), and returns a CompiledKernel."""
def install() -> None:
    """Makes `import triton` give Tilewright in this process and in those that it starts. A Triton that was imported before is replaced."""
def reinterpret(tensor: object, dtype: _dtype) -> Any:
    """The same memory with elements of another type of the same size: `reinterpret(bytes, tl.float8e5)`."""
def set_allocator(allocator: Callable[[int, int, int | None], object] | None) -> None: ...
