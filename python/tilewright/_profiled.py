"""Measures the kernels of a call alone, by a profile. It is separate from _measure.py, which the profiler imports."""

import os
import tempfile
import time
from functools import partial

from . import _core, profiler
from ._measure import cuda_events, summarize


def _kernel_times(tree, prefix):
    """Milliseconds of the kernels in each scope of a profile whose name begins with `prefix`, in the order of these names."""
    def spent(frame):
        return frame["metrics"].get("time (ns)", 0) + sum(map(spent, frame["children"]))

    scopes, open_frames = [], list(tree)
    while open_frames:
        frame = open_frames.pop()
        if frame["frame"]["name"].startswith(prefix):
            scopes.append((frame["frame"]["name"], spent(frame) / 1e6))
        else:
            open_frames += frame["children"]
    return [time for _, time in sorted(scopes)]


def do_bench(machine, fn, warmup, rep, grad_to_none, quantiles, return_mode):
    """As do_bench, but the time of the kernels alone: launches and pauses between kernels do not count."""
    cuda = cuda_events(machine)
    flush = _core.flush_caches if cuda is None else partial(machine.clear_cache, machine.get_empty_cache_for_benchmark())
    finish = (lambda: None) if cuda is None else cuda.synchronize
    fn()
    finish()
    start = time.perf_counter()
    for _ in range(5):
        fn()
    finish()
    estimate = max((time.perf_counter() - start) / 5 * 1e3, 1e-4)
    for _ in range(min(int(warmup / estimate), 1000)):
        fn()
    with tempfile.TemporaryDirectory() as folder:
        session = profiler.start(os.path.join(folder, "profile"))
        try:
            for number in range(max(1, min(int(rep / estimate), 1000))):
                for tensor in grad_to_none or ():
                    tensor.grad = None
                flush()
                with profiler.scope(f"measured.{number:08d}"):
                    fn()
            finish()
            profiler.deactivate(session, flushing=True)
            times = [time for time in _kernel_times(profiler.data.get(session)[:1], "measured.") if time > 0]
        finally:
            profiler.finalize(session)
    if not times:
        raise RuntimeError("the profile has no kernel: the function that do_bench_proton measures must launch one")
    return summarize(times, quantiles, return_mode)
