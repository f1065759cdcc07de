# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any

def do_bench(fn: Any, warmup: Any = ..., rep: Any = ..., grad_to_none: Any = ..., quantiles: Any = ..., return_mode: Any = ..., flush_cache: Any = ..., measure_time_with_hooks: Any = ...) -> Any:
    """Milliseconds that `fn()` takes: calls it for about `warmup` and then for about `rep` milliseconds."""
def do_bench_cudagraph(fn: Any, rep: Any = ..., grad_to_none: Any = ..., quantiles: Any = ..., return_mode: Any = ...) -> Any:
    """As do_bench, with warm caches: on a GPU many calls in one graph, on a CPU, where there are no graphs, one after the other."""
def do_bench_proton(fn: Any, warmup: Any = ..., rep: Any = ..., grad_to_none: Any = ..., quantiles: Any = ..., return_mode: Any = ...) -> Any:
    """As do_bench, of the kernels that `fn` launches alone, by a profile of each call: short kernels are measured without their launches."""
def cuda_graph_without_gc(*args: Any, **kwargs: Any) -> Any:
    """`torch.cuda.graph(...)`, during which no garbage is collected: a kernel that goes meanwhile would end the capture."""
def cublas() -> Any:
    """cuBLAS for products A @ B.T on the current device, to compare kernels with."""
def assert_close(x: Any, y: Any, atol: Any = ..., rtol: Any = ..., err_msg: Any = ...) -> Any:
    """Asserts that x and y agree, within 1e-2 if nothing else is said; NaNs agree with NaNs."""
class Benchmark(Any): ...
class Mark(Any): ...
def perf_report(benchmarks: Any) -> Any:
    """Marks a function that measures one point of the given Benchmark, or of several."""
def get_dram_gbps(device: Any = ...) -> Any:
    """GB/s between memory and the chip: a GPU's peak by its clocks, and for a CPU what a large copy reaches."""
def get_max_simd_tflops(dtype: Any, clock_rate: Any, device: Any = ...) -> Any:
    """Peak of fused multiply-adds at a clock rate in kHz: two vector units in each core, two operations in each lane."""
def get_max_tensorcore_tflops(dtype: Any, clock_rate: Any, device: Any = ...) -> Any:
    """Peak of matrix products at a clock rate in kHz. The CPU makes its products by its vector units."""
def nvsmi(attrs: Any) -> Any:
    ...
def cuda_memcheck(**target_kwargs: Any) -> Any:
    """Leaves the test as it is: `tilewright.engine("interpret", check_bounds=True)` finds bad accesses on a CPU."""
def set_gpu_clock(ref_sm_clock: Any = ..., ref_mem_clock: Any = ...) -> Any:
    ...
