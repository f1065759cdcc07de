"""Measuring and checking kernels."""

import contextlib
import functools
import gc
import html
import os
import sys
from dataclasses import dataclass

from . import _core, _measure
from ._measure import summarize as _summarize_statistics  # noqa: F401  (tuners of other libraries import it by this name)
from ._progress import progress
from .runtime.driver import driver

def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean", flush_cache=True, measure_time_with_hooks=False):
    """Milliseconds that `fn()` takes, as a float: calls it for about `warmup` and then for about `rep` milliseconds.

    quantiles: a list of quantiles (0 to 1) to return instead of one number. return_mode: "min", "max", "mean", "median", or "all". Before each
    measured call the caches are emptied, as on a GPU, unless flush_cache is False. measure_time_with_hooks: on a CPU, only the time of the
    launches in a call, from hook to hook, counts. On a GPU the time is that between two events, as in upstream: about 4 us more on an H200 than
    the kernels themselves take, however long that is. `tilewright bench` and triton.profiler give the kernels' own time.
    """
    timed = _measure.launches if measure_time_with_hooks else _measure.whole_call
    return _measure.do_bench(driver.active, fn, warmup, rep, grad_to_none, quantiles, return_mode, flush_cache, timed)


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """As do_bench, with warm caches: many calls in one graph on a GPU; one call after the other on a CPU, which has no graphs."""
    return _measure.do_bench_cudagraph(driver.active, fn, rep, grad_to_none, quantiles, return_mode)


def do_bench_proton(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """As do_bench, but the time of the kernels that `fn` launches alone, by a profile of each call: the cost of launches is left out."""
    from . import _profiled  # imported here, because it imports the profiler
    return _profiled.do_bench(driver.active, fn, warmup, rep, grad_to_none, quantiles, return_mode)


@contextlib.contextmanager
def cuda_graph_without_gc(*args, **kwargs):
    """`torch.cuda.graph(...)`, during which no garbage is collected: unloading a kernel would end the capture."""
    import torch
    was_on = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs) as graph:
            yield graph
    finally:
        if was_on:
            gc.enable()


@functools.cache
def _cublas_of(device):
    from ._C.libtriton import nvidia
    return nvidia.cublas.CublasLt(None)


def cublas():
    """An object with cuBLAS's products A @ B.T on the current device, to compare kernels with."""
    import torch
    return _cublas_of(torch.cuda.current_device())


def _as_array(value):
    import numpy
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        return value.numpy()
    return numpy.asarray(value)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    """Raises an AssertionError unless x and y agree, within 1e-2 by default; NaNs agree with NaNs."""
    import numpy
    if isinstance(atol, dict):
        atol = atol[str(getattr(x, "dtype", "")).rpartition(".")[2]]
    if isinstance(rtol, dict):
        rtol = rtol[str(getattr(x, "dtype", "")).rpartition(".")[2]]
    x, y = (_as_array(value) for value in (x, y))
    if x.dtype.kind not in "biu":
        x, y = x.astype(numpy.float64), y.astype(numpy.float64)
    atol = 1e-2 if atol is None else atol
    rtol = 0.0 if rtol is None else rtol
    if x.size <= 1 and y.size <= 1:
        numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)
        return
    if numpy.allclose(x, y, atol=atol, rtol=rtol, equal_nan=True):
        return
    numpy.testing.assert_allclose(x, y, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)


@dataclass
class Benchmark:
    """A description of measurements for @perf_report: `x_names` take the values of `x_vals`, with one line for each of `line_vals`."""

    x_names: list
    x_vals: list
    line_arg: str
    line_vals: list
    line_names: list
    plot_name: str
    args: dict
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: list = None


class Mark:
    """A function with benchmarks; `run` measures and shows them."""

    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _measure(self, bench, kwargs):
        """One row for each x: its values, then for each line the value and its bounds (None if there are none)."""
        rows = []
        with progress(bench.plot_name, len(bench.x_vals) * len(bench.line_vals)) as bar:
            for x in bench.x_vals:
                x = list(x) if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
                if len(x) != len(bench.x_names):
                    raise ValueError(f"Expected {len(bench.x_names)} values, got {x}")
                measured = []
                for line in bench.line_vals:
                    result = self.fn(**dict(zip(bench.x_names, x)), **{bench.line_arg: line}, **bench.args, **kwargs)
                    measured.append(tuple(result) if isinstance(result, (tuple, list)) else (result, None, None))
                    bar.step()
                rows.append((x, measured))
        return rows

    @staticmethod
    def _columns(bench):
        suffix = f" ({bench.ylabel})" if bench.ylabel else ""
        return [*bench.x_names, *(name + suffix for name in bench.line_names)]

    def _table(self, bench, rows, diff):
        columns = self._columns(bench) + (["Diff"] if diff else [])
        table = [columns]
        for x, measured in rows:
            values = [value for value, _, _ in measured]
            cells = [*x, *values] + ([values[1] - values[0]] if diff else [])
            table.append([f"{cell:.6f}" if isinstance(cell, float) else str(cell) for cell in cells])
        widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in table)

    def _plot(self, bench, rows, save_path, show):
        import matplotlib
        if not show:
            matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        figure = plt.figure()
        axes = plt.subplot()
        xs = [x[0] for x, _ in rows]
        for i, name in enumerate(bench.line_names):
            color, style = bench.styles[i] if bench.styles else (None, None)
            axes.plot(xs, [measured[i][0] for _, measured in rows], label=name, color=color, ls=style)
            if all(measured[i][1] is not None for _, measured in rows):
                axes.fill_between(xs, [measured[i][1] for _, measured in rows], [measured[i][2] for _, measured in rows], alpha=0.15, color=color)
        axes.legend()
        scales = {True: "log", False: "linear"}
        axes.set(xlabel=bench.xlabel or bench.x_names[0], ylabel=bench.ylabel, xscale=scales[bool(bench.x_log)], yscale=scales[bool(bench.y_log)])
        if show:
            plt.show()
        if save_path:
            figure.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))
        plt.close(figure)

    def _data_frame(self, bench, rows):
        import pandas
        return pandas.DataFrame([[*x, *(value for value, _, _ in measured)] for x, measured in rows], columns=self._columns(bench))

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, diff_col=False, save_precision=6, **kwargs):
        single = isinstance(self.benchmarks, Benchmark)
        frames = []
        for bench in [self.benchmarks] if single else self.benchmarks:
            rows = self._measure(bench, kwargs)
            if print_data:
                print(bench.plot_name + ":")
                print(self._table(bench, rows, diff_col and len(bench.line_vals) == 2))
            if save_path:
                os.makedirs(save_path, exist_ok=True)
                with open(os.path.join(save_path, f"{bench.plot_name}.csv"), "w") as file:
                    file.write(",".join(self._columns(bench)) + "\n")
                    for x, measured in rows:
                        file.write(",".join(f"{v:.{save_precision}f}" if isinstance(v, float) else str(v)
                                            for v in [*x, *(value for value, _, _ in measured)]) + "\n")
            if (show_plots or save_path) and bench.plot_name:
                self._plot_if_possible(bench, rows, save_path, show_plots)
            if return_df:
                frames.append(self._data_frame(bench, rows))
        if save_path:
            self._write_page([self.benchmarks] if single else self.benchmarks, save_path)
        if return_df:
            return frames[0] if single else frames
        return None

    def _plot_if_possible(self, bench, rows, save_path, show):
        try:
            self._plot(bench, rows, save_path, show)
        except ImportError as error:
            if error.name != "matplotlib":
                raise
            print(f"{bench.plot_name}: no picture is drawn, as matplotlib is not installed (pip install matplotlib)", file=sys.stderr)

    @staticmethod
    def _write_page(benches, save_path):
        """Writes results.html: all pictures, each with its table."""
        parts = []
        for bench in benches:
            name = html.escape(bench.plot_name, quote=True)
            parts.append(f"<h2>{name}</h2>")
            if os.path.exists(os.path.join(save_path, f"{bench.plot_name}.png")):
                parts.append(f'<img src="{name}.png" alt="{name}"/>')
            with open(os.path.join(save_path, f"{bench.plot_name}.csv")) as file:
                rows = [line.rstrip("\n").split(",") for line in file]
            cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
            parts.append("<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>")
        with open(os.path.join(save_path, "results.html"), "w") as file:
            file.write('<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>results</title></head><body>\n')
            file.write("\n".join(parts) + "\n</body></html>\n")


def perf_report(benchmarks):
    """Marks a function that measures one point of the given Benchmark, or of several."""
    return lambda fn: Mark(fn, benchmarks)


def get_dram_gbps(device=None):
    """GB/s between memory and the chip: the peak by its clocks for a GPU, the speed of a large copy for a CPU."""
    if driver.active.get_current_target().backend == "cuda":
        properties = driver.active.utils.get_device_properties(driver.active.get_current_device() if device is None else device)
        return properties["mem_clock_rate"] * properties["mem_bus_width"] * 2 / 1e6 / 8
    return _measured_bandwidth()


@functools.lru_cache(maxsize=None)
def _measured_bandwidth():
    import numpy
    size = max(4 * _core.target()["llc_bytes"], 64 << 20)
    source, target = numpy.ones(size, numpy.uint8), numpy.empty(size, numpy.uint8)
    milliseconds = do_bench(lambda: numpy.copyto(target, source), warmup=10, rep=100, return_mode="min", flush_cache=False)
    return 2 * size / milliseconds / 1e6


def get_max_simd_tflops(dtype, clock_rate, device=None):
    """The peak of fused multiply-adds in TFLOP/s at a clock rate in kHz: two vector units in each core, two operations in each lane."""
    if driver.active.get_current_target().backend == "cuda":
        properties = driver.active.utils.get_device_properties(driver.active.get_current_device() if device is None else device)
        lanes = 64 if "64" in str(dtype) or properties["major"] * 10 + properties["minor"] == 80 else 128
        return properties["multiprocessor_count"] * lanes * 2 * clock_rate * 1e-9
    properties = _core.target()
    bits = 64 if "64" in str(dtype) else 32  # 16-bit floats are computed in fp32
    lanes = properties["vector_bytes"] * 8 // bits
    return properties["threads"] * 2 * lanes * 2 * clock_rate * 1e-9


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    """The peak of matmuls in TFLOP/s at a clock rate in kHz. A CPU is assumed to use its vector units."""
    if driver.active.get_current_target().backend == "cuda":
        properties = driver.active.utils.get_device_properties(driver.active.get_current_device() if device is None else device)
        word = str(dtype)
        # Operations of one multiprocessor in a cycle on 16-bit floats; other types in proportion to their size.
        operations = {9: 8192, 8: 4096 if properties["minor"] == 0 else 2048}.get(properties["major"], 0)
        if not operations:
            raise RuntimeError(f"get_max_tensorcore_tflops: the peak of {properties['name']} is not known")
        scale = 2 if "8" in word.replace("128", "") and "int16" not in word else 0.5 if "32" in word else 1
        return properties["multiprocessor_count"] * operations * scale * clock_rate * 1e-9
    return get_max_simd_tflops(dtype, clock_rate, device)


def nvsmi(attrs):
    raise RuntimeError("nvsmi: there is no NVIDIA GPU here")


def cuda_memcheck(**target_kwargs):
    """Leaves the test unchanged: `tilewright.engine("interpret", check_bounds=True)` finds bad accesses on a CPU."""
    return lambda test: test


@contextlib.contextmanager
def set_gpu_clock(ref_sm_clock=1350, ref_mem_clock=1215):
    raise RuntimeError("set_gpu_clock: there is no NVIDIA GPU here")
    yield
