# Written by tools/stubs.py from the tables of builtins: edit those.
from contextlib import AbstractContextManager
from typing import Any, Callable, Literal, Mapping, NoReturn, Sequence, TypeVar, overload

_Test = TypeVar("_Test")

@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: None = None, return_mode: Literal["min", "max", "mean", "median"] = "mean", flush_cache: bool = True, measure_time_with_hooks: bool = False) -> float:
    """Milliseconds that `fn()` takes, as a float: calls it for about `warmup` and then for about `rep` milliseconds.

    quantiles: a list of quantiles (0 to 1) to return instead of one number. return_mode: "min", "max", "mean", "median", or "all". Before each
    measured call the caches are emptied, as on a GPU, unless flush_cache is False. measure_time_with_hooks: on a CPU, only the time of the
    launches in a call, from hook to hook, counts. On a GPU the time is that between two events, as in upstream: about 4 us more on an H200 than
    the kernels themselves take, however long that is. `tilewright bench` and triton.profiler give the kernels' own time.
    """
@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: None = None, *, return_mode: Literal["all"], flush_cache: bool = True, measure_time_with_hooks: bool = False) -> list[float]:
    """Milliseconds that `fn()` takes, as a float: calls it for about `warmup` and then for about `rep` milliseconds.

    quantiles: a list of quantiles (0 to 1) to return instead of one number. return_mode: "min", "max", "mean", "median", or "all". Before each
    measured call the caches are emptied, as on a GPU, unless flush_cache is False. measure_time_with_hooks: on a CPU, only the time of the
    launches in a call, from hook to hook, counts. On a GPU the time is that between two events, as in upstream: about 4 us more on an H200 than
    the kernels themselves take, however long that is. `tilewright bench` and triton.profiler give the kernels' own time.
    """
@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, *, quantiles: tuple[float], return_mode: str = "mean", flush_cache: bool = True, measure_time_with_hooks: bool = False) -> float:  # type: ignore[overload-overlap]
    """Milliseconds that `fn()` takes, as a float: calls it for about `warmup` and then for about `rep` milliseconds.

    quantiles: a list of quantiles (0 to 1) to return instead of one number. return_mode: "min", "max", "mean", "median", or "all". Before each
    measured call the caches are emptied, as on a GPU, unless flush_cache is False. measure_time_with_hooks: on a CPU, only the time of the
    launches in a call, from hook to hook, counts. On a GPU the time is that between two events, as in upstream: about 4 us more on an H200 than
    the kernels themselves take, however long that is. `tilewright bench` and triton.profiler give the kernels' own time.
    """
@overload
def do_bench(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, *, quantiles: Sequence[float], return_mode: str = "mean", flush_cache: bool = True, measure_time_with_hooks: bool = False) -> list[float]:
    """Milliseconds that `fn()` takes, as a float: calls it for about `warmup` and then for about `rep` milliseconds.

    quantiles: a list of quantiles (0 to 1) to return instead of one number. return_mode: "min", "max", "mean", "median", or "all". Before each
    measured call the caches are emptied, as on a GPU, unless flush_cache is False. measure_time_with_hooks: on a CPU, only the time of the
    launches in a call, from hook to hook, counts. On a GPU the time is that between two events, as in upstream: about 4 us more on an H200 than
    the kernels themselves take, however long that is. `tilewright bench` and triton.profiler give the kernels' own time.
    """
@overload
def do_bench_cudagraph(fn: Callable[[], object], rep: float = 20, grad_to_none: Sequence[object] | None = None, quantiles: None = None, return_mode: Literal["min", "max", "mean", "median"] = "mean") -> float:
    """As do_bench, with warm caches: many calls in one graph on a GPU; one call after the other on a CPU, which has no graphs."""
@overload
def do_bench_cudagraph(fn: Callable[[], object], rep: float = 20, grad_to_none: Sequence[object] | None = None, quantiles: Sequence[float] | None = None, return_mode: str = "mean") -> float | list[float]:
    """As do_bench, with warm caches: many calls in one graph on a GPU; one call after the other on a CPU, which has no graphs."""
@overload
def do_bench_proton(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: None = None, return_mode: Literal["min", "max", "mean", "median"] = "mean") -> float:
    """As do_bench, but the time of the kernels that `fn` launches alone, by a profile of each call: the cost of launches is left out."""
@overload
def do_bench_proton(fn: Callable[[], object], warmup: float = 25, rep: float = 100, grad_to_none: Sequence[object] | None = None, quantiles: Sequence[float] | None = None, return_mode: str = "mean") -> float | list[float]:
    """As do_bench, but the time of the kernels that `fn` launches alone, by a profile of each call: the cost of launches is left out."""
def cuda_graph_without_gc(*args: object, **kwargs: object) -> AbstractContextManager[Any]:
    """`torch.cuda.graph(...)`, during which no garbage is collected: unloading a kernel would end the capture."""
def cublas() -> Any:
    """An object with cuBLAS's products A @ B.T on the current device, to compare kernels with."""
def assert_close(x: object, y: object, atol: float | Mapping[str, float] | None = None, rtol: float | Mapping[str, float] | None = None, err_msg: str = "") -> None:
    """Raises an AssertionError unless x and y agree, within 1e-2 by default; NaNs agree with NaNs."""

class Benchmark:
    """A description of measurements for @perf_report: `x_names` take the values of `x_vals`, with one line for each of `line_vals`."""
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
    """A function with benchmarks; `run` measures and shows them."""
    fn: Callable[..., object]
    benchmarks: Benchmark | Sequence[Benchmark]
    def __init__(self, fn: Callable[..., object], benchmarks: Benchmark | Sequence[Benchmark]) -> None: ...
    def run(self, show_plots: bool = False, print_data: bool = False, save_path: str = "", return_df: bool = False, diff_col: bool = False, save_precision: int = 6, **kwargs: object) -> Any: ...

def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., object]], Mark]:
    """Marks a function that measures one point of the given Benchmark, or of several."""
def get_dram_gbps(device: int | None = None) -> float:
    """GB/s between memory and the chip: the peak by its clocks for a GPU, the speed of a large copy for a CPU."""
def get_max_simd_tflops(dtype: object, clock_rate: float, device: int | None = None) -> float:
    """The peak of fused multiply-adds in TFLOP/s at a clock rate in kHz: two vector units in each core, two operations in each lane."""
def get_max_tensorcore_tflops(dtype: object, clock_rate: float, device: int | None = None) -> float:
    """The peak of matmuls in TFLOP/s at a clock rate in kHz. A CPU is assumed to use its vector units."""
def nvsmi(attrs: Sequence[str]) -> NoReturn: ...
def cuda_memcheck(**target_kwargs: object) -> Callable[[_Test], _Test]:
    """Leaves the test unchanged: `tilewright.engine("interpret", check_bounds=True)` finds bad accesses on a CPU."""
def set_gpu_clock(ref_sm_clock: float = 1350, ref_mem_clock: float = 1215) -> AbstractContextManager[None]: ...
