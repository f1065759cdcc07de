"""Adapts Inductor's heuristics for GPUs to CPUs: the blocks of reductions, and the code that runs before a launch.

`adapt` changes PyTorch's module of heuristics once, as soon as it is imported. Inductor reads `driver.active` before the heuristics of each CPU
kernel, in its compile workers as well.
"""

import copy
import functools
import sys

_HEURISTICS = "torch._inductor.runtime.triton_heuristics"
_adapted = None


def adapt():
    """Adapts the heuristics that are loaded, if they are not adapted yet."""
    global _adapted
    heuristics = sys.modules.get(_HEURISTICS)
    if heuristics is _adapted or not hasattr(heuristics, "cached_autotune") or not hasattr(heuristics, "CachingAutotuner"):
        return  # it may be half loaded
    _adapted = heuristics
    heuristics.cached_autotune = _with_blocks_for_cpus(heuristics.cached_autotune)
    if not hasattr(heuristics.CachingAutotuner, "_build_fast_launcher"):  # later versions do the same themselves
        heuristics.CachingAutotuner.run = _launching_at_once(heuristics, heuristics.CachingAutotuner.run)


def _with_blocks_for_cpus(cached_autotune):
    """cached_autotune, with other configurations for reductions on CPUs."""

    @functools.wraps(cached_autotune)
    def wrapper(size_hints, configs, triton_meta, heuristic_type, *args, **kwargs):
        inductor_meta = kwargs.get("inductor_meta") or {}
        on_cpu = getattr(triton_meta.get("device"), "type", None) == "cpu"
        if on_cpu and configs and getattr(heuristic_type, "name", "") == "REDUCTION":
            ours = _for_cpu(configs[0], size_hints, inductor_meta)
            configs = [ours] if len(configs) == 1 else [ours, *configs]  # of several, the fastest is measured
        return cached_autotune(size_hints, configs, triton_meta, heuristic_type, *args, **kwargs)

    return wrapper


def _for_cpu(config, size_hints, inductor_meta):
    """The configuration of a loop over one axis. Its partial results fit in the L1 cache, with the loaded tiles: rows in vectors of 128, columns
    64 at a time and one after another."""
    if set(config.kwargs) != {"XBLOCK", "R0_BLOCK"} or inductor_meta.get("no_x_dim") or not {"x", "r0_"} <= set(size_hints):
        return config
    scores = inductor_meta.get("tiling_scores") or {"x": config.kwargs["XBLOCK"], "r0_": config.kwargs["R0_BLOCK"]}
    columns, rows = ((64, 1), (8, 128))
    x, r = columns if scores.get("x", 0) > scores.get("r0_", 0) else rows
    config = copy.copy(config)
    config.kwargs = {"XBLOCK": min(x, size_hints["x"]), "R0_BLOCK": min(r, size_hints["r0_"])}
    return config


def _launching_at_once(heuristics, run):
    """CachingAutotuner.run that calls the launcher directly after the first launch, unless a profiler or a debug mode is active."""
    profiler, debug_mode = heuristics.autograd_profiler, heuristics.get_active_debug_mode

    @functools.wraps(run)
    def wrapper(self, *args, stream, benchmark_run=False, **kwargs):
        launcher = self.__dict__.get("_launcher_of_cpu")
        if launcher is not None and not (benchmark_run or kwargs or profiler._is_profiler_enabled or debug_mode()):
            return launcher(*args, stream=stream)
        result = run(self, *args, stream=stream, benchmark_run=benchmark_run, **kwargs)
        watched = self.triton_interpret or self.dump_launch_params or self.dump_launch_tensors
        if self.device_props.type == "cpu" and not watched and len(self.launchers) == 1 and not self.launchers[0].store_cubin:
            self._launcher_of_cpu = self.launchers[0]
        return result

    return wrapper
