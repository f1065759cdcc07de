"""How the benchmarks measure, and what they write.

Tilewright and its rivals alternate in one process, so that clock changes and other programs affect all of them alike. The
result is the median of each and the ratio of the medians. A call is timed only after its result was checked. Inputs are
standard normal.
"""

import json
import math
import time

import numpy as np

LINE = "{:<26} {:<16} {:<5} {:>2} {:>10} {:<8} {:<34} {:>6} {:>6} {:>6} {:>5}  {}"


def aligned(shape, dtype=np.float32):
    """An array whose first element lies on a 64-byte boundary, its pages touched."""
    count = int(np.prod(shape))
    itemsize = np.dtype(dtype).itemsize
    raw = np.zeros(count * itemsize + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * itemsize].view(dtype).reshape(shape)


def randn(shape, dtype=np.float32, seed=0):
    out = aligned(shape, dtype)
    out[...] = np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)
    return out


def samples_of(calls, seconds, clock):
    """Returns the seconds of each sample of each call. The calls alternate. A sample repeats a short call until it can be timed well.
    The first millisecond of a sample is not timed: the threads of the previous call still spin (libgomp with the settings of rivals.py for
    0.4 to 0.5 ms) and take a CPU from this call's threads."""
    repeats, untimed = {}, {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        taken = max(time.perf_counter() - start, 1e-7)
        repeats[name] = max(1, int(0.002 / taken))
        untimed[name] = math.ceil(0.001 / taken) if taken < 0.02 else 0
    samples = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(samples.values()))) < 5:
        for name, call in calls.items():
            for _ in range(untimed[name]):
                call()
            start = clock()
            for _ in range(repeats[name]):
                call()
            samples[name].append((clock() - start) / repeats[name])
    return samples


def interleaved(calls, seconds):
    """Median seconds of each call."""
    return {name: float(np.median(taken)) for name, taken in samples_of(calls, seconds, time.perf_counter).items()}


def fastest(calls, seconds, threads):
    """Returns the seconds of each call's fastest sample. With one thread, this is the CPU time of the thread, without other programs."""
    clock = time.thread_time if threads == 1 else time.perf_counter
    return {name: min(taken) for name, taken in samples_of(calls, seconds, clock).items()}


def require_close(actual, expected, what, tolerance=1e-4):
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    scale = np.sqrt(np.mean(expected**2)) if expected.size else 0
    worst = np.max(np.abs(actual - expected)) if expected.size else 0
    if not worst <= tolerance * (scale + np.max(np.abs(expected), initial=0)):
        raise AssertionError(f"{what}: wrong result, off by {worst}; nothing is timed")


class Report:
    """Collects rows, prints each as it comes and writes it as a line of JSON. `machine`: its properties, the first line. `peaks`: the
    machine's measured peaks in the rows' units, by element type or unit and threads. Each row has its fraction of the peak."""

    def __init__(self, path, machine=None, peaks=None):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("w")
        self.rows, self.peaks = [], peaks or {}
        if machine:
            shown = {"machine": machine, "peaks": {f"{name}, {threads}": rate for (name, threads), rate in self.peaks.items()}}
            self.file.write(json.dumps(shown) + "\n")
            print("\n".join(f"{name:<14}{value}" for part in shown.values() for name, value in part.items()))

    def header(self):
        print(LINE.format("name", "size", "dtype", "n", "ours", "unit", "rivals", "ratio", "reach", "win", "peak", ""))

    def row(self, name, size, dtype, threads, unit, ours, rivals, against, reach, win, more_is_better=True):
        """`against` names the rival (or, as a number, the goal) that the ratio is taken with; at least 1 is as good."""
        rival = rivals[against] if isinstance(against, str) else against
        ratio = (ours / rival if more_is_better else rival / ours) if rival else None
        peak = self.peaks.get((dtype if unit == "GFLOP/s" else unit, threads))
        share = ours / peak if peak else None
        row = {
            "name": name, "size": size, "dtype": dtype, "threads": threads, "unit": unit, "ours": ours, "rivals": rivals, "ratio": ratio,
            "reach": reach, "win": win, "share": share,
        }
        self.file.write(json.dumps(row) + "\n")
        self.file.flush()
        self.rows.append(row)
        shown = ", ".join(f"{rival} {value:.4g}" for rival, value in rivals.items())
        result = "" if ratio is None or reach is None else "win" if win and ratio >= win else "reached" if ratio >= reach else "short"
        number = lambda value: "" if value is None else f"{value:.2f}"
        numbers = (number(value) for value in (ratio, reach, win, share))
        print(LINE.format(name, size, dtype, threads, f"{ours:.4g}", unit, shown, *numbers, result), flush=True)

    def problem(self, name, error):
        self.file.write(json.dumps({"name": name, "error": str(error)}) + "\n")
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
