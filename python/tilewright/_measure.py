"""How long a call takes, on the machine of a driver (backends/driver.py)."""

import statistics
import time
from functools import partial

from . import _core, knobs

_LONG_FIRST = 1e3  # milliseconds: a longer first call is a sample, unless it compiled or tuned something


def summarize(times, quantiles, return_mode):
    """Returns a benchmark's result: `quantiles` of the times (one number for one quantile), or the statistic that return_mode names: "all" of them in
    their order, "min", "max", "mean" or "median"."""
    if quantiles is not None:
        values = _core.quantiles(times, quantiles)
        return values[0] if len(values) == 1 else values
    if return_mode == "all":
        return times
    return {"min": min, "max": max, "mean": statistics.fmean, "median": statistics.median}[return_mode](times)


def cuda_events(machine):
    """torch.cuda, if kernels run on a GPU and PyTorch can measure there; else None."""
    if machine.get_current_target().backend != "cuda":
        return None
    interface = machine.get_device_interface()
    return interface if hasattr(interface, "Event") else None


def _bench_on_gpu(machine, cuda, fn, warmup, rep, grad_to_none, flush_cache):
    """Milliseconds of each call by the GPU's clock. The host runs ahead, so that its own time does not count."""
    cache = machine.get_empty_cache_for_benchmark() if flush_cache else None
    fn()
    cuda.synchronize()
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    for _ in range(5):
        if cache is not None:
            machine.clear_cache(cache)
        fn()
    end.record()
    cuda.synchronize()
    estimate = max(start.elapsed_time(end) / 5, 1e-4)
    for _ in range(max(1, min(int(warmup / estimate), 10000))):
        fn()
    count = max(1, min(int(rep / estimate), 10000))
    starts = [cuda.Event(enable_timing=True) for _ in range(count)]
    ends = [cuda.Event(enable_timing=True) for _ in range(count)]
    for start, end in zip(starts, ends):
        if grad_to_none is not None:
            for tensor in grad_to_none:
                tensor.grad = None
        if cache is not None:
            machine.clear_cache(cache)
        start.record()
        fn()
        end.record()
    cuda.synchronize()
    return [start.elapsed_time(end) for start, end in zip(starts, ends)]


def _bench_graph(cuda, fn, rep, grad_to_none):
    """Milliseconds of one of many calls in one CUDA graph, without the cost of launches."""
    with cuda.stream(cuda.Stream()):
        fn()
        if grad_to_none is not None:
            for tensor in grad_to_none:
                tensor.detach_()
                tensor.requires_grad_(True)
                tensor.grad = None
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        start.record()
        for _ in range(5):
            fn()
        end.record()
        cuda.synchronize()
        calls = max(1, min(int(rep / max(start.elapsed_time(end) / 5, 1e-4)), 1000))
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            for _ in range(calls):
                if grad_to_none is not None:
                    for tensor in grad_to_none:
                        tensor.grad = None
                fn()
        cuda.synchronize()
        times = []
        for _ in range(10):
            start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
            start.record()
            graph.replay()
            end.record()
            cuda.synchronize()
            times.append(start.elapsed_time(end) / calls)
    return times


def whole_call(fn):
    """Seconds that a call takes."""
    start = time.perf_counter()
    fn()
    return time.perf_counter() - start


def launches(fn):
    """Seconds that the launches in a call take."""
    begun, spent = [], []
    enter, leave = lambda _: begun.append(time.perf_counter()), lambda _: spent.append(time.perf_counter() - begun.pop())
    hooks = (knobs.runtime.launch_enter_hook, enter), (knobs.runtime.launch_exit_hook, leave)
    for chain, hook in hooks:
        chain.add(hook)
    try:
        fn()
    finally:
        for chain, hook in hooks:
            chain.remove(hook)
    return sum(spent)


def do_bench(machine, fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean", flush_cache=True, timed=whole_call):
    """Milliseconds that `fn()` takes on `machine`, a driver: calls it for about `warmup` and then for about `rep` milliseconds.

    quantiles: return these instead of one number. return_mode: "min", "max", "mean", "median", or "all". Before each
    measured call the caches are emptied, as on a GPU, unless flush_cache is False. `timed` says which part of a call counts on a CPU, where
    a call that takes longer than both is measured once, the second time; or the first, if it takes a second and only launches.
    """
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"return_mode is min, max, mean, median or all, not {return_mode!r}")
    cuda = cuda_events(machine)
    if cuda is not None:
        times = _bench_on_gpu(machine, cuda, fn, warmup, rep, grad_to_none, flush_cache)
        return summarize(times, quantiles, return_mode)
    clock = time.perf_counter

    def measured():
        if grad_to_none is not None:
            for tensor in grad_to_none:
                tensor.grad = None
        if flush_cache:
            _core.flush_caches()
        return timed(fn) * 1e3

    def is_all_of_it(milliseconds):
        return milliseconds > warmup + rep  # one call takes longer than the whole measurement should

    prepared = _core.preparations()
    first = timed(fn) * 1e3
    counts = first > _LONG_FIRST and grad_to_none is None and _core.preparations() == prepared
    if counts and is_all_of_it(first):
        return summarize([first], quantiles, return_mode)
    second = measured()
    if is_all_of_it(second):
        return summarize([second], quantiles, return_mode)
    start = clock()
    for calls in range(1, 6):
        fn()
        if (clock() - start) * 1e3 > warmup + rep:
            break
    estimate = max((clock() - start) / calls * 1e3, 1e-6)
    for _ in range(min(int(warmup / estimate), 10000)):
        fn()
    times = []
    # Emptying the caches is not measured but takes time, much more than a short kernel does. Such a kernel is called fewer times: as
    # many as fit into the requested time, and at least enough for a meaningful median.
    deadline = clock() + 1e-3 * rep
    for count in range(max(1, min(int(rep / estimate), 10000))):
        if count >= 10 and clock() > deadline:
            break
        times.append(measured())
    return summarize(times, quantiles, return_mode)


def do_bench_cudagraph(machine, fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """As do_bench, with warm caches: many calls in one graph on a GPU; one call after the other on a CPU, which has no graphs."""
    cuda = cuda_events(machine)
    if cuda is not None:
        return summarize(_bench_graph(cuda, fn, rep, grad_to_none), quantiles, return_mode)
    return do_bench(machine, fn, warmup=rep / 4, rep=rep, grad_to_none=grad_to_none, quantiles=quantiles, return_mode=return_mode,
                    flush_cache=False)
