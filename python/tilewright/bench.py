"""`tilewright bench KERNEL.py`: how fast is a kernel, compared with its reference and the machine's peak?

    python -m tilewright.bench KERNEL.py [--warmup N --repeat N --device D --json --roofline FILE.svg --output FILE.json]
    python -m tilewright.bench --compare OLD.json NEW.json

Nothing is measured before verification passes. Calls of the kernel and of the reference alternate, with cold caches. Bytes are
those of inputs and outputs, each once. Floating-point operations are counted in the IR of the launches. If a loop's trip count depends on
data, the reference interpreter counts them while the kernel runs on the CPU.
"""

import json
import math
import sys
import time

from . import _core, verify as verification
from ._author import command, peaks, tensors
from ._author.allocations import torch_mode
from ._author.kernel_file import KernelFile, KernelFileError, describe_exception
from ._author.work import CountedLaunches
from ._progress import progress
from .profiler import clock


Work = _core.Work


def _tensors_of(*groups):
    found = {}
    for group in groups:
        for value in group:
            if tensors.is_tensor(value) and math.prod(value.shape):
                found[tensors.span(value)] = value
    return list(found.values())


def _interpreted(file):
    """The operations of one call, counted by the interpreter while the kernel runs on the CPU, where it does the same work."""
    with torch_mode("cpu" if tensors.torch() is not None else None):
        inputs = {name: tensors.on_cpu(value) if tensors.is_tensor(value) else value for name, value in file.inputs().items()}
        file.call(file.kernel_fn, inputs)  # runs the autotuners
        _core.count_arithmetic(True)
        try:
            file.call(file.kernel_fn, inputs)
        finally:
            operations = _core.count_arithmetic(False)
    return operations


def _operations(file, launches):
    if launches.is_exact:
        return launches.operations
    print("tilewright: loops depend on data: operations are counted on the CPU, which may take a while", file=sys.stderr)
    try:
        return _interpreted(file)
    except (KernelFileError, KeyboardInterrupt):
        raise
    except Exception as error:
        print(f"tilewright: operations are not counted: on the CPU kernel_fn raises {describe_exception(error)}", file=sys.stderr)
        return 0.0


def count_work(file, device):
    """The work of one call with fresh inputs."""
    with torch_mode(device):
        inputs = file.inputs()
        file.call(file.kernel_fn, inputs)  # runs the autotuners
        with CountedLaunches() as launches:
            outputs = file.call(file.kernel_fn, inputs) or []
    touched = _tensors_of(inputs.values(), outputs)
    results = [value for value in outputs if tensors.is_tensor(value)] or touched
    total = sum(math.prod(value.shape) * tensors.item_bytes(value) for value in touched)
    return Work(total, _operations(file, launches), launches.has_dot, tensors.dtype_name(results[0]) if results else "float32")


# ---- measuring

_MOST_SECONDS = 20  # for warming up and measuring; slower functions are called fewer times than requested


def _cpu_once(call, inputs):
    _core.drop_from_caches(_tensors_of(inputs.values()))
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _gpu_once(call, cache):
    """Seconds from the start of the first kernel to the end of the last one, by the GPU's own clock."""
    cache.zero_()
    span = clock.call_span(tensors.torch().cuda)
    call()
    span.end()
    return span.extent() / 1e9


def _measure(file, inputs, warmup, repeat):
    """Returns two lists of milliseconds: the calls of the kernel and those of the reference, which alternate."""
    calls = [lambda: file.call(file.kernel_fn, inputs), lambda: file.call(file.reference_fn, inputs)]
    gpu = next((value for value in inputs.values() if tensors.is_tensor(value) and tensors.is_on_gpu(value)), None)
    if gpu is not None:
        cache = tensors.torch().empty(256 << 20, dtype=tensors.torch().uint8, device=gpu.device)
        once = lambda call: _gpu_once(call, cache)
    else:
        once = lambda call: _cpu_once(call, inputs)
    with progress("measuring", warmup + repeat) as bar:
        times = _core.measure_functions(len(calls), lambda which: calls[which](), lambda which: once(calls[which]), bar.step, warmup, repeat,
                                        _MOST_SECONDS)
    clock.recorder.stop()
    return times


def bench(path, options=verification.Options(), warmup=10, repeat=40, measure_peaks=False, tell=lambda result: None):
    """The results as a dict, or the report of a verification that failed."""
    report = verification.verify(path, options, tell)
    if not report.correct:
        return report
    file = KernelFile(path)
    verification._seed(options.seed)
    work = count_work(file, options.device)
    verification._seed(options.seed)
    with torch_mode(options.device):
        inputs = file.inputs()
        kernel, reference = _measure(file, inputs, warmup, repeat)
    on_gpu = [value for value in inputs.values() if tensors.is_tensor(value) and tensors.is_on_gpu(value)]
    device = str(on_gpu[0].device) if on_gpu else "cpu"
    measured = lambda peaks_now: _core.Measurement(kernel, reference, warmup, work, peaks_now)
    own = peaks.peaks_of(device, measure_peaks)
    own = peaks.beaten(own, device, work, measured(own).milliseconds / 1e3)
    return {**json.loads(measured(own).json()), "file": file.path}


# ---- output


def _of(found):
    """Makes a measurement from the results that `bench` returned."""
    own = {name: rate for name, rate in found["roofline"].items() if name != "peak"}
    work = Work(found["bytes"], found["flops"], found["has_dot"], found["dtype"])
    return _core.Measurement(found["kernel"]["samples"], found["reference"]["samples"], found["warmup_iters"], work, own)


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise KernelFileError(f"cannot read '{path}': {error.strerror}") from error


def compare(old_path, new_path):
    """Compares two files of results. The reference is the same code in both: its times show how the machine differed."""
    try:
        return _core.compare_results(_read(old_path), _read(new_path), str(old_path), str(new_path))
    except ValueError as error:
        raise KernelFileError(str(error)) from error


def _time(milliseconds):
    return f"{milliseconds * 1e3:.2f} us" if milliseconds < 1 else f"{milliseconds:.3f} ms"


def _compare_main(line, results):
    if len(line.file) != 2:
        raise command.CommandError("--compare expects two result files, OLD.json NEW.json")
    found = compare(*line.file)
    if line.json:
        command.write_json(found, results)
    else:
        drift = "" if found["machine"] == 1 else f"; the reference, and so the machine, took {found['machine']:.3f} times as long, which is taken out"
        print(f"{found['result']}: {_time(found['old_ms'])} -> {_time(found['new_ms'])}, {found['ratio']:.3f} times as long{drift}", file=results)
    return command.WRONG if found["result"] == "slower" else 0


def _write_roofline(path, found, file):
    drawn = _of(found).roofline(file)
    if drawn is None:
        return "the kernel does no operations on floats that could be counted; there is no point to draw"
    return command.write_file(path, drawn)


def _parse(arguments):
    parser = command.Parser("bench", description="How fast is a kernel, compared with its reference and the machine's peak?",
                            epilog="  tilewright bench kernel.py --roofline roofline.svg --output new.json\n  tilewright bench --compare old.json new.json")
    verification.add_options(parser, nargs="+")
    parser.add_argument("--warmup", type=int, default=10, help="calls before the measured ones; default 10")
    parser.add_argument("--repeat", type=int, default=40, help="measured calls; default 40")
    parser.add_argument("--roofline", metavar="FILE.svg", help="draw the kernel on the machine's roofline")
    parser.add_argument("--output", metavar="FILE.json", help="write the results, for --compare")
    parser.add_argument("--compare", action="store_true", help="two results: which differ by more than noise?")
    parser.add_argument("--measure-peaks", action="store_true", help="measure the machine again, and store the result")
    line = parser.parse_args(arguments)
    if not line.compare and len(line.file) != 1:
        parser.error("bench expects one FILE, or --compare OLD.json NEW.json")
    if line.warmup < 0 or line.repeat < 1:
        parser.error("--warmup expects an integer of at least 0, --repeat one of at least 1")
    return line


def main(arguments):
    line = _parse(arguments)
    options = verification.read_options(line)
    with command.results_alone() as results:
        if line.compare:
            return _compare_main(line, results)
        found = bench(line.file[0], options, line.warmup, line.repeat, line.measure_peaks)
        if isinstance(found, verification.Report):
            raise command.CommandError(f"only a correct kernel is measured: {found.details}", found.as_dict())
        problems = [command.write_file(line.output, json.dumps(command.to_json(found)) + "\n") if line.output else None,
                    _write_roofline(line.roofline, found, line.file[0]) if line.roofline else None]
        if not line.json:
            print(_of(found).text(), end="", file=results)
        if any(problems):
            raise command.CommandError("; ".join(filter(None, problems)), found)
        if line.json:
            command.write_json(found, results)
    return 0


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
