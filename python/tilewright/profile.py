"""python -m tilewright.profile script.py [arguments]: the time of each kernel of a program, and its share of the machine's peak.

Bytes are counted as `tilewright bench` counts them: each tensor of a launch once. Operations are those of a few programs, spread
over the grid, times the number of programs; masked-off elements count. A kernel's own `launch_metadata` ("bytes", "flops") replaces both.
"""

import os
import runpy
import sys
import time

from . import _alias, _core, _traceback, knobs
from ._author import command, peaks
from ._author.kernel_file import describe_exception
from ._author.work import WorkCounter
from .profiler import clock, hooks, session

_DESCRIPTION = """Runs a Python script, in which `import triton` means Tilewright, and says where its kernels' time went: calls, GB/s, TFLOP/s,
and the fraction of this machine's measured roofline. The script's own options follow its name."""


def _parser():
    parser = command.Parser("profile", description=_DESCRIPTION)
    parser.add_argument("--json", action="store_true", help="one JSON object on the standard output")
    parser.add_argument("--trace", metavar="FILE", help="write launches, and compilations step by step, as Chrome's tracing viewer reads them")
    parser.add_argument("--no-peaks", action="store_true", help="do not measure the machine")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=command.argparse.REMAINDER, metavar="...")
    return parser


_PRODUCTS = "product flops "  # followed by the type of the operands, it is the name of a metric


class WorkHook(hooks.LaunchHook):
    """Adds each launch's operations and bytes to the profile: as the kernel's author gives them, or counted."""

    def __init__(self):
        super().__init__()
        self._counter = WorkCounter()

    def describe(self, metadata):
        described = super().describe(metadata)
        if described is None:
            return None
        name, metrics = described
        told = any(metric.startswith("flops") for metric in metrics)
        counted = self._count(metadata.launch) if metadata.launch else {}
        if told:
            counted = {metric: value for metric, value in counted.items() if metric == "bytes"}
        return name, {**counted, **metrics}

    def _count(self, launch):
        work = self._counter.of(launch)
        counted = {"bytes": work.bytes}
        if work.other is not None:
            counted |= {"flops": work.operations}
            counted |= {_PRODUCTS + operands: operations for operands, operations in work.products.items()}
        return counted


def _flops(metrics):
    return sum(value for metric, value in metrics.items() if metric.startswith("flops"))


def rows_of(frame):
    """One row (a dict) for each kernel name in a profile's tree, summed up over all its places; the longest time first."""
    sums = {}

    def walk(node):
        metrics = node["metrics"]
        if "time (ns)" in metrics and not node["children"]:
            row = sums.setdefault(node["frame"]["name"], {"calls": 0, "seconds": 0.0, "bytes": 0, "flops": 0, "products": {}})
            row["calls"] += metrics["count"]
            row["seconds"] += metrics["time (ns)"] / 1e9
            row["bytes"] += metrics.get("bytes", 0)
            row["flops"] += _flops(metrics)
            for metric in metrics:
                if metric.startswith(_PRODUCTS):
                    operands = metric.removeprefix(_PRODUCTS)
                    row["products"][operands] = row["products"].get(operands, 0) + metrics[metric]
        for child in node["children"]:
            walk(child)

    walk(frame)
    whole = sum(row["seconds"] for row in sums.values()) or 1
    rows = [{"kernel": name, **row, "share_of_time": row["seconds"] / whole} for name, row in sums.items()]
    return sorted(rows, key=lambda row: -row["seconds"])


def add_rates(rows, machine):
    """Adds GB/s, TFLOP/s, and the greater of the shares of the memory's and the arithmetic's limits to each row."""
    for row in rows:
        seconds = max(row["seconds"], 1e-12)
        row["gb_per_s"], row["tflop_per_s"] = row["bytes"] / seconds / 1e9, row["flops"] / seconds / 1e12
        if machine:
            # The peak of 8-bit dots is not measured: tensor cores do twice as many operations as for 16-bit dots.
            rates = {"float8": 2 * machine["float16"], "int8": 2 * machine["float16"], **machine} if "float16" in machine else machine
            other = (row["flops"] - sum(row["products"].values())) / machine["float32"]
            arithmetic = other + sum(flops / rates.get(operands, machine["float32"]) for operands, flops in row["products"].items())
            row["fraction_of_peak"] = max(row["bytes"] / machine["bytes_per_second"], arithmetic) / seconds


def text_of(rows):
    lines = [f"{'kernel':32} {'calls':>7} {'time':>11} {'a call':>11} {'share':>6} {'GB/s':>9} {'TFLOP/s':>9} {'of peak':>8}"]
    for row in rows:
        at_peak = f"{row['fraction_of_peak']:7.0%}" if "fraction_of_peak" in row else "-"
        lines.append(f"{row['kernel'][:32]:32} {row['calls']:7} {row['seconds'] * 1e3:8.3f} ms {row['seconds'] / row['calls'] * 1e6:8.2f} us "
                     f"{row['share_of_time']:6.0%} {row['gb_per_s']:9.2f} {row['tflop_per_s']:9.4f} {at_peak:>8}")
    return "\n".join(lines) if rows else "no kernel was launched"


class CompileTrace:
    """Compilations as events of a trace, step by step. They end at the time at which the listener is called."""

    def __init__(self):
        self.events = []
        self._before = knobs.compilation.listener

    def __call__(self, *, src, metadata, times, cache_hit, **others):
        steps = [] if cache_hit else [("emit-tiles", times.ir_initialization), *times.lowering_stages, ("store", times.store_results)]
        begin = time.perf_counter_ns() / 1e3 - sum(microseconds for _, microseconds in steps)
        for step, microseconds in steps:
            self.events.append({"name": f"{metadata['name']}: {step}", "cat": "compile", "ph": "X", "ts": begin, "dur": microseconds,
                                "pid": os.getpid(), "tid": 0})
            begin += microseconds
        if self._before is not None:
            self._before(src=src, metadata=metadata, times=times, cache_hit=cache_hit, **others)


def _check(script):
    """Ends with a message of one line if the script is not a Python program. This check runs before the script."""
    if not os.path.exists(script):
        raise command.CommandError(f"cannot read '{script}': there is no such file")
    if not script.endswith(".py"):
        return  # Python also runs folders and archives
    try:
        with open(script, "rb") as file:
            compile(file.read(), script, "exec", dont_inherit=True)
    except OSError as error:
        raise command.CommandError(f"cannot read '{script}': {error.strerror}")
    except (SyntaxError, ValueError) as error:
        raise command.CommandError(f"'{script}' raises {describe_exception(error)}") from error


def _run(script, arguments):
    _alias.install()
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(script)))
    runpy.run_path(script, run_name="__main__")


def profile(script, arguments=(), wants_trace=False, wants_peaks=True):
    """Runs a script; returns the rows of its kernels, the longest first, and the trace, or None if it is not wanted."""
    compilations = CompileTrace()
    knobs.compilation.listener = compilations
    number = session.start("profile", hook=WorkHook(), data="trace")
    try:
        _run(script, arguments)
    except SystemExit as end:
        if end.code not in (None, 0):
            print(f"tilewright: '{script}' ended with status {end.code}", file=sys.stderr)
    except Exception as error:
        _traceback.show(type(error), error, error.__traceback__)
        raise command.CommandError(f"'{script}' raises {describe_exception(error)}") from error
    finally:
        taken = session.end(number)
        knobs.compilation.listener = compilations._before
    tree, devices = taken.database()
    trace = taken.trace() if wants_trace else None
    if trace:
        trace["traceEvents"] += compilations.events
    if clock.recorder.why:
        print(f"tilewright: kernels are timed by events, which adds a few microseconds to each, as {clock.recorder.why}", file=sys.stderr)
    rows = rows_of(tree)
    device = "cpu" if "CPU" in devices else f"cuda:{next(iter(devices['CUDA']))}"
    add_rates(rows, peaks.peaks_of(device) if wants_peaks and rows else None)
    return rows, trace


def _own_words(words):
    """Returns the words of the command line before the script's name."""
    count = 0
    while count < len(words) and words[count].startswith("-"):
        count += 2 if words[count] == "--trace" else 1
    return words[:count]


def main(words):
    options = _parser().parse_args(words)
    _check(options.script)
    with command.results_alone() as results:
        rows, trace = profile(options.script, options.arguments, bool(options.trace), not options.no_peaks)
        problem = command.write_file(options.trace, command.json.dumps(trace)) if options.trace else None
        if not options.json:
            print(text_of(rows), file=results)
        if problem:
            raise command.CommandError(problem, {"kernels": rows})
        if options.json:
            command.write_json({"kernels": rows}, results)


if __name__ == "__main__":
    command.run(main, sys.argv[1:], _own_words(sys.argv[1:]))
