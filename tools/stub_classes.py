"""The declarations that the tables of builtins do not have: the classes of the language, and the package that host code uses. stubs.py adds the documentation."""

# ---- the classes of the language

CORE = '''import builtins
import enum
from typing import Any, Callable, Iterator, Literal, Mapping, Sequence, TypeAlias, TypeVar, overload

_R = TypeVar("_R")
_Function = TypeVar("_Function", bound=Callable[..., object])
_Aggregate = TypeVar("_Aggregate")
_TensorLike: TypeAlias = "tensor | int | float"  # a tile, a scalar or a number
_IntLike: TypeAlias = "tensor | int"
_DType: TypeAlias = "dtype"
_PropagateNan: TypeAlias = "PropagateNan"
_ScaledFormat: TypeAlias = Literal["e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "bf16", "fp16"]

class base_type:
    def mangle(self) -> str: ...

class base_value: ...

class dtype(base_type):
    name: str
    primitive_bitwidth: int
    itemsize: int
    fp_mantissa_width: int
    exponent_bias: int
    int_bitwidth: int
    int_signedness: dtype.SIGNEDNESS
    scalar: dtype
    element_ty: dtype
    class SIGNEDNESS(enum.Enum):
        SIGNED = 0
        UNSIGNED = 1
    class KIND(enum.Enum):
        BOOLEAN = 0
        INTEGRAL = 1
        FLOATING = 2
    SINT_TYPES: list[str]
    UINT_TYPES: list[str]
    FP_TYPES: list[str]
    STANDARD_FP_TYPES: list[str]
    OTHER_TYPES: list[str]
    def __init__(self, name: str) -> None: ...
    @staticmethod
    def is_dtype(name: str) -> bool: ...
    @property
    def cache_key_part(self) -> str: ...
    def kind(self) -> dtype.KIND: ...
    def get_int_min_value(self) -> int: ...
    def get_int_max_value(self) -> int: ...
    def with_element_ty(self, element_ty: dtype) -> dtype: ...
    def codegen_name(self) -> str: ...
QUESTIONS
class pointer_type(dtype):
    address_space: int
    const: bool
    def __init__(self, element_ty: dtype, address_space: int = 1, const: bool = False) -> None: ...

class block_type(dtype):
    shape: builtins.tuple[int, ...]
    numel: int
    nbytes: int
    def __init__(self, element_ty: dtype, shape: Sequence[int]) -> None: ...
    def get_block_shapes(self) -> builtins.tuple[int, ...]: ...

class tuple_type(base_type):
    types: Sequence[base_type]
    fields: Sequence[str]
    name: str
    def __init__(self, types: Sequence[base_type], fields: Sequence[str] | None = None) -> None: ...

class constexpr_type(base_type):
    value: Any
    name: str
    def __init__(self, value: object) -> None: ...

class tensor_descriptor_base_type(base_type):
    block_type: dtype
    def __init__(self, block_type: dtype) -> None: ...

class tensor_descriptor_type(tensor_descriptor_base_type): ...

class slice_type(dtype):
    def __init__(self) -> None: ...

# A parameter `BLOCK: tl.constexpr = 64` takes a plain value, and the kernel uses it as one. Therefore the annotation stands for any type. mypy reads
# only the first branch; pyright reads both, and its last declaration of a name counts.
MYPY: bool
def _any_type(cls: object) -> Any: ...
if MYPY:
    from ._constexpr import constexpr as constexpr
else:
    @_any_type
    class constexpr(base_value):
        value: Any
        type: constexpr_type
        def __init__(self, value: object) -> None: ...

class const:
    """Annotates a pointer through which a kernel must not store."""

class tuple(base_value):
    values: list[Any]
    def __init__(self, args: Sequence[object]) -> None: ...
    def __getitem__(self, index: int) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class slice:
    start: Any
    stop: Any
    step: Any
    def __init__(self, start: object, stop: object, step: object) -> None: ...

class tensor_descriptor_base(base_value): ...

class tensor_descriptor(tensor_descriptor_base):
    dtype: _DType
    type: base_type
    block_type: _DType
    shape: builtins.tuple[tensor, ...]
    strides: builtins.tuple[tensor, ...]
    block_shape: builtins.tuple[int, ...]
DESCRIPTOR_METHODS
class range(base_value):
    def __init__(self, arg1: _IntLike, arg2: _IntLike | None = None, step: _IntLike | None = None, num_stages: int | None = None, \\
loop_unroll_factor: int | None = None, disallow_acc_multi_buffer: bool = False, flatten: bool = False, warp_specialize: bool = False, \\
disable_licm: bool = False, early_exit: bool = False) -> None: ...
    def __iter__(self) -> Iterator[tensor]: ...

class static_range(base_value):
    def __init__(self, arg1: int, arg2: int | None = None, step: int | None = None) -> None: ...
    def __iter__(self) -> Iterator[constexpr]: ...

class condition(base_value):
    def __init__(self, arg1: _TensorLike, disable_licm: bool = False, early_exit: bool = False) -> None: ...
    def __bool__(self) -> bool: ...

class PropagateNan(enum.Enum):
    NONE = 0
    ALL = 65535

class tensor(base_value):
    dtype: _DType
    type: _DType
    shape: builtins.tuple[int, ...]
    numel: int
    T: tensor
    def to(self, dtype: _DType | str, fp_downcast_rounding: Literal['rtne', 'rtz'] | None = None, bitcast: bool = False) -> tensor:
        """Converts values to another type."""
    def __getitem__(self, index: builtins.slice | None | builtins.tuple[builtins.slice | None, ...]) -> tensor: ...
    def __neg__(self) -> tensor: ...
    def __pos__(self) -> tensor: ...
    def __invert__(self) -> tensor: ...
    def __abs__(self) -> tensor: ...
    def __bool__(self) -> bool: ...
    def __index__(self) -> int: ...
TENSOR_METHODS
class _Condition(tensor, Any):
    """The result of a comparison."""

def builtin(fn: Callable[..., _R]) -> Callable[..., _R]: ...
def extern(fn: Callable[..., _R]) -> Callable[..., _R]: ...
def is_builtin(fn: object) -> bool: ...
@overload
def must_use_result(x: _Function, s: bool | str = True) -> _Function: ...
@overload
def must_use_result(x: str, s: bool | str = True) -> Callable[[_Function], _Function]: ...
def get_int_dtype(bitwidth: int, signed: bool) -> dtype: ...
def str_to_ty(name: str, constant: object = None) -> base_type: ...
def type_named(text: str) -> dtype: ...
TRITON_MAX_TENSOR_NUMEL: int
TRITON_BUILTIN: str
CONSTEXPR_0: constexpr
pi32_t: pointer_type
'''
CONSTEXPR = '''"""`constexpr` as mypy reads it: a variable of any type is a valid annotation there."""
from typing import Any

constexpr: Any
'''

# ---- the package: what host code uses

PACKAGE = '''from types import ModuleType
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
    def __init__(self, name: Literal["cpu", "interpret", "simulate"], check_bounds: bool = False, target: str | None = None) -> None: ...
    def __enter__(self) -> engine: ...
    def __exit__(self, *exception: object) -> None: ...

@overload
def jit(fn: Callable[..., _R]) -> JITFunction[_R]: ...
@overload
def jit(fn: None = None, *, version: str | None = None, repr: Callable[..., str] | None = None, launch_metadata: Callable[..., object] | None = None, do_not_specialize: Iterable[int | str] | None = None, do_not_specialize_on_alignment: Iterable[int | str] | None = None, debug: bool | None = None, noinline: bool | None = None, any_size: bool = False) -> Callable[[Callable[..., _R]], JITFunction[_R]]: ...
def autotune(configs: Sequence[Config] | Literal["auto"], key: Sequence[str], prune_configs_by: Mapping[str, Callable[..., object] | float | None] | None = None, reset_to_zero: Sequence[str] | None = None, restore_value: Sequence[str] | None = None, pre_hook: _Hook | None = None, post_hook: _Hook | None = None, warmup: float | None = None, rep: float | None = None, use_cuda_graph: bool = False, do_bench: Callable[..., object] | None = None, cache_results: bool | None = None) -> Callable[[KernelInterface[_R]], Autotuner[_R]]: ...
def heuristics(values: Mapping[str, Callable[[dict[str, Any]], object]]) -> Callable[[KernelInterface[_R]], Heuristics[_R]]: ...
@dataclass_transform()
def aggregate(cls: _C) -> _C: ...
@overload
def must_use_result(x: _Function, s: bool | str = True) -> _Function: ...
@overload
def must_use_result(x: str, s: bool | str = True) -> Callable[[_Function], _Function]: ...
def constexpr_function(fn: _Function) -> ConstexprFunction[_Function]: ...
def cdiv(x: int, y: int) -> int: ...
def next_power_of_2(n: int) -> int: ...
def compile(src: str | ASTSource | IRSource, target: GPUTarget | None = None, options: Mapping[str, object] | None = None, _env_vars: Mapping[str, str] | None = None) -> CompiledKernel: ...
def install() -> None: ...
def reinterpret(tensor: object, dtype: _dtype) -> Any: ...
def set_allocator(allocator: Callable[[int, int, int | None], object] | None) -> None: ...
'''

TESTING = '''from contextlib import AbstractContextManager
from typing import Any, Callable, Literal, Mapping, NoReturn, Sequence, TypeVar, overload

_Test = TypeVar("_Test")

@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: None = None, return_mode: Literal["min", "max", "mean", "median"] = "mean", flush_cache: bool = True, measure_time_with_hooks: bool = False) -> float: ...
@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: None = None, *, return_mode: Literal["all"], flush_cache: bool = True, measure_time_with_hooks: bool = False) -> list[float]: ...
@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, *, quantiles: tuple[float], return_mode: str = "mean", flush_cache: bool = True, measure_time_with_hooks: bool = False) -> float: ...  # type: ignore[overload-overlap]
@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, *, quantiles: Sequence[float], return_mode: str = "mean", flush_cache: bool = True, measure_time_with_hooks: bool = False) -> list[float]: ...
@overload
def do_bench_cudagraph(fn: Callable[[], object], rep: float = 20, grad_to_none: Sequence[object] | None = None, quantiles: None = None, return_mode: Literal["min", "max", "mean", "median"] = "mean") -> float: ...
@overload
def do_bench_cudagraph(fn: Callable[[], object], rep: float = 20, grad_to_none: Sequence[object] | None = None, quantiles: Sequence[float] | None = None, return_mode: str = "mean") -> float | list[float]: ...
@overload
def do_bench_proton(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: None = None, return_mode: Literal["min", "max", "mean", "median"] = "mean") -> float: ...
@overload
def do_bench_proton(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: Sequence[float] | None = None, return_mode: str = "mean") -> float | list[float]: ...
def cuda_graph_without_gc(*args: object, **kwargs: object) -> AbstractContextManager[Any]: ...
def cublas() -> Any: ...
def assert_close(x: object, y: object, atol: float | Mapping[str, float] | None = None, rtol: float | Mapping[str, float] | None = None, err_msg: str = "") -> None: ...

class Benchmark:
    x_names: Sequence[str]
    x_vals: Sequence[object]
    line_arg: str
    line_vals: Sequence[object]
    line_names: Sequence[str]
    plot_name: str
    args: Mapping[str, object]
    xlabel: str
    ylabel: str
    x_log: bool
    y_log: bool
    styles: Sequence[tuple[str | None, str | None]] | None
    def __init__(self, x_names: Sequence[str], x_vals: Sequence[object], line_arg: str, line_vals: Sequence[object], line_names: Sequence[str], plot_name: str, args: Mapping[str, object], xlabel: str = "", ylabel: str = "", x_log: bool = False, y_log: bool = False, styles: Sequence[tuple[str | None, str | None]] | None = None) -> None: ...

class Mark:
    fn: Callable[..., object]
    benchmarks: Benchmark | Sequence[Benchmark]
    def __init__(self, fn: Callable[..., object], benchmarks: Benchmark | Sequence[Benchmark]) -> None: ...
    def run(self, show_plots: bool = False, print_data: bool = False, save_path: str = "", return_df: bool = False, diff_col: bool = False, save_precision: int = 6, **kwargs: object) -> Any: ...

def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., object]], Mark]: ...
def get_dram_gbps(device: int | None = None) -> float: ...
def get_max_simd_tflops(dtype: object, clock_rate: float, device: int | None = None) -> float: ...
def get_max_tensorcore_tflops(dtype: object, clock_rate: float, device: int | None = None) -> float: ...
def nvsmi(attrs: Sequence[str]) -> NoReturn: ...
def cuda_memcheck(**target_kwargs: object) -> Callable[[_Test], _Test]: ...
def set_gpu_clock(ref_sm_clock: float = 1350, ref_mem_clock: float = 1215) -> AbstractContextManager[None]: ...
'''
KNOBS = '''from contextlib import AbstractContextManager
from typing import Any, Callable, Generic, NamedTuple, TypeVar

_V = TypeVar("_V")
_Set = TypeVar("_Set")
_Group = TypeVar("_Group", bound="base_knobs")

class Env: ...

class env_base(Generic[_V, _Set]):
    """A setting: values are read as the first type and set as the second. `Env` makes it read its environment variable again."""
    key: str
    def __get__(self, instance: object, owner: type | None = None) -> _V: ...
    def __set__(self, instance: object, value: _Set | Env) -> None: ...
    def __delete__(self, instance: object) -> None: ...

class NvidiaTool:
    path: str
    version: str
    def __init__(self, path: str, version: str) -> None: ...
    @classmethod
    def from_path(cls, path: str) -> NvidiaTool | None: ...

class CompileTimes(NamedTuple):
    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int
    @property
    def total_lowering(self) -> int: ...
    @property
    def total(self) -> int: ...

class HookChain(list[Callable[..., object]]):
    calls: list[Callable[..., object]]
    def __init__(self, reversed: bool = False) -> None: ...
    def add(self, call: Callable[..., object]) -> None: ...
    def remove(self, call: Callable[..., object]) -> None: ...
    def __call__(self, *args: object, **kwargs: object) -> None: ...

class base_knobs:
    knob_descriptors: dict[str, env_base[Any, Any]]
    knobs: dict[str, object]
    def copy(self: _Group) -> _Group: ...
    def reset(self: _Group) -> _Group: ...
    def scope(self) -> AbstractContextManager[None]: ...

env: Env
propagate_env: bool
def setenv(key: str, value: str | None) -> None: ...
def toenv(value: object) -> tuple[str | None] | None: ...
def refresh_knobs() -> None: ...
'''

TARGETS = '''from typing import Any

class GPUTarget:
    backend: str
    arch: int | str
    warp_size: int
    def __init__(self, backend: str, arch: int | str, warp_size: int) -> None: ...

def __getattr__(name: str) -> Any: ...
'''
