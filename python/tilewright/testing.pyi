# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any

def do_bench(fn: Any, warmup: Any = ..., rep: Any = ..., grad_to_none: Any = ..., quantiles: Any = ..., return_mode: Any = ..., flush_cache: Any = ..., measure_time_with_hooks: Any = ...) -> Any:
    """Milliseconds that `fn()` takes, as a float: calls it for about `warmup` and then for about `rep` milliseconds."""
def do_bench_cudagraph(fn: Any, rep: Any = ..., grad_to_none: Any = ..., quantiles: Any = ..., return_mode: Any = ...) -> Any:
    """As do_bench, with warm caches: many calls in one graph on a GPU; one call after the other on a CPU, which has no graphs."""
def do_bench_proton(fn: Any, warmup: Any = ..., rep: Any = ..., grad_to_none: Any = ..., quantiles: Any = ..., return_mode: Any = ...) -> Any:
    """As do_bench, but the time of the kernels that `fn` launches alone, by a profile of each call: the cost of launches is left out."""
def cuda_graph_without_gc(*args: Any, **kwargs: Any) -> Any:
    """`torch.cuda.graph(...)`, during which no garbage is collected: unloading a kernel would end the capture."""
def cublas() -> Any:
    """An object with cuBLAS's products A @ B.T on the current device, to compare kernels with."""
def assert_close(x: Any, y: Any, atol: Any = ..., rtol: Any = ..., err_msg: Any = ...) -> Any:
    """Raises an AssertionError unless x and y agree, within 1e-2 by default; NaNs agree with NaNs."""
class Benchmark(Any): ...
class Mark(Any): ...
def perf_report(benchmarks: Any) -> Any:
    """Marks a function that measures one point of the given Benchmark, or of several."""
def get_dram_gbps(device: Any = ...) -> Any:
    """GB/s between memory and the chip: the peak by its clocks for a GPU, the speed of a large copy for a CPU."""
def get_max_simd_tflops(dtype: Any, clock_rate: Any, device: Any = ...) -> Any:
    """The peak of fused multiply-adds in TFLOP/s at a clock rate in kHz: two vector units in each core, two operations in each lane."""
def get_max_tensorcore_tflops(dtype: Any, clock_rate: Any, device: Any = ...) -> Any:
    """The peak of matmuls in TFLOP/s at a clock rate in kHz. A CPU is assumed to use its vector units."""
def nvsmi(attrs: Any) -> Any:
    ...
def cuda_memcheck(**target_kwargs: Any) -> Any:
    """Leaves the test unchanged: `tilewright.engine("interpret", check_bounds=True)` finds bad accesses on a CPU."""
def set_gpu_clock(ref_sm_clock: Any = ..., ref_mem_clock: Any = ...) -> Any:
    ...
