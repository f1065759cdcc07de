"""`tilewright verify KERNEL.py`: does a kernel compute what its reference computes?

    python -m tilewright.verify KERNEL.py [--rtol R] [--atol A] [--device cpu|cuda] [--json]

KERNEL.py exports kernel_fn, reference_fn and get_inputs (see _author/kernel_file.py). Each variant of the inputs (_author/variants.py) is
made anew, and runs twice in memory filled with two patterns, so that an element which nobody wrote is known for certain, and so is a write
beyond a tensor. Where an element is wrong, a third run on the CPU finds the program that wrote it.
"""

import dataclasses
import math
import random
import sys
import textwrap
import warnings

import numpy

from . import _core, knobs
from ._author import command, compare, tensors, variants
from ._author.allocations import Allocations, torch_mode
from ._author.kernel_file import KernelFile, KernelFileError, describe_exception
from ._progress import progress

_PATTERNS = 0xFF, 0x7F  # bytes; the first makes floats of all widths NaN
_SHOWN = 8  # elements that a list shows


@dataclasses.dataclass
class Output:
    """One tensor that was judged."""
    name: str
    is_result: bool  # else it is an input that neither function should have changed
    comparison: compare.Comparison
    unwritten: int = 0
    first_unwritten: list = dataclasses.field(default_factory=list)
    writer: tuple = None  # (kernel, program) behind the worst element

    @property
    def is_right(self):
        return not self.comparison.wrong and not self.unwritten

    def text(self):
        parts, found = [], self.comparison
        if found.wrong:
            by = f", written by program {self.writer[1]} of {self.writer[0]}" if self.writer else ""
            parts.append(f"{found.wrong} of {math.prod(found.shape)} elements are wrong; the worst is {list(found.worst)}: {found.value}, "
                         f"and {found.expected} is expected{by}")
        if self.unwritten:
            more = ", ..." if self.unwritten > len(self.first_unwritten) else ""
            parts.append(f"{self.unwritten} elements are written by nobody: {', '.join(map(str, self.first_unwritten))}{more}")
        return f"{self.name}: {'; '.join(parts)}"

    def as_dict(self):
        found = self.comparison
        worst = None
        if found.wrong:
            kernel, program = self.writer or (None, None)
            worst = {"index": found.worst, "value": found.value, "expected": found.expected, "kernel": kernel, "program": program}
        return {"output": self.name, "dtype": found.dtype, "shape": found.shape, "rtol": found.rtol, "atol": found.atol, "wrong": found.wrong,
                "max_abs_diff": found.max_abs_diff, "max_rel_diff": found.max_rel_diff, "worst": worst,
                "unwritten": {"count": self.unwritten, "first": self.first_unwritten}}


@dataclasses.dataclass
class Verdict:
    """The result for one variant. outcome: "right", "wrong", "refused" (the kernel raises), "skipped" (there is no such variant)."""
    variant: str
    kind: str
    outcome: str
    inputs: list
    details: str = ""
    outputs: list = dataclasses.field(default_factory=list)

    def as_dict(self):
        return {"variant": self.variant, "kind": self.kind, "outcome": self.outcome, "inputs": self.inputs, "details": self.details,
                "outputs": [output.as_dict() for output in self.outputs]}


@dataclasses.dataclass
class Report:
    verdicts: list

    @property
    def correct(self):
        return all(verdict.outcome != "wrong" for verdict in self.verdicts)

    def _greatest(self, name):
        return max((getattr(output.comparison, name) for verdict in self.verdicts for output in verdict.outputs), default=0.0)

    @property
    def details(self):
        counts = {outcome: sum(verdict.outcome == outcome for verdict in self.verdicts) for outcome in ("right", "wrong", "refused", "skipped")}
        text = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        first = next((verdict for verdict in self.verdicts if verdict.outcome == "wrong"), None)
        return f"{text} of {len(self.verdicts)} variants" + (f"; {first.variant}: {first.details}" if first else "")

    def as_dict(self):
        return {"correct": self.correct, "max_abs_diff": self._greatest("max_abs_diff"), "max_rel_diff": self._greatest("max_rel_diff"),
                "details": self.details, "variants": [verdict.as_dict() for verdict in self.verdicts]}


class _Launches:
    """What the launches of a run tell: whether a kernel multiplies."""

    def __init__(self):
        self.has_product = False

    def __enter__(self):
        knobs.runtime.launch_enter_hook.add(self._see)
        return self

    def __exit__(self, *_):
        knobs.runtime.launch_enter_hook.remove(self._see)

    def _see(self, metadata):
        self.has_product |= "tt.dot" in metadata.kernel.asm.get("ttir", "")


@dataclasses.dataclass
class _Run:
    """The results of kernel_fn or reference_fn."""
    allocations: Allocations
    inputs: dict
    outputs: list  # None: it returned nothing
    has_product: bool = False


class _Judge:
    """One variant of one kernel file."""

    def __init__(self, file, options, variant, fresh):
        self.file, self.options, self.variant = file, options, variant
        self.inputs = variant.derive(fresh)

    def verdict(self, outcome, details="", outputs=()):
        return Verdict(self.variant.name, self.variant.kind, outcome, [tensors.describe(value) for value in self.inputs.values()], details,
                       list(outputs))

    def run(self, function, pattern, watch=None, device=None):
        allocations = Allocations(pattern, pattern != _PATTERNS[0], watch, _core.watch_writes)

        def guarded(value):
            if not tensors.is_tensor(value):
                return value
            is_blank = value.shape and math.prod(value.shape) and tensors.has_pattern(value, _PATTERNS[0]).all()  # an output among the inputs
            return allocations.guard(value if device is None else tensors.on_cpu(value), not is_blank)

        inputs = {name: guarded(value) for name, value in self.inputs.items()}
        wanted = device or self.options.device
        with _Launches() as launches, allocations.active(wanted):
            outputs = self.file.call(function, inputs)
        tensors.wait(wanted)
        return _Run(allocations, inputs, outputs, launches.has_product)

    def judge(self):
        try:
            with warnings.catch_warnings():
                if self.variant.kind != "given":
                    warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, about the mean of no elements and the like
                reference = self.run(self.file.reference_fn, _PATTERNS[0])
        except Exception as error:
            if self.variant.kind == "given":
                raise KernelFileError(f"reference_fn raises {describe_exception(error)}") from error
            return self.verdict("skipped", f"reference_fn raises {describe_exception(error)}")
        try:
            runs = [self.run(self.file.kernel_fn, pattern) for pattern in _PATTERNS]
        except Exception as error:
            return self.verdict("wrong" if self.variant.kind == "given" else "refused", f"kernel_fn raises {describe_exception(error)}")
        mismatch = _mismatch(runs[0], reference)
        if mismatch:
            return self.verdict("wrong", mismatch)
        outputs = [self.compare(name, index, runs, expected) for name, index, expected in _results(runs[0], reference)]
        outputs = [output for output in outputs if output.is_result or not output.is_right]
        problems = [output.text() for output in outputs if not output.is_right] + _out_of_bounds(runs[1])
        return self.verdict("wrong" if problems else "right", "; ".join(problems), outputs)

    def compare(self, name, index, runs, expected):
        results = [run.inputs[name] if index is None else run.outputs[index] for run in runs]
        dtype = tensors.dtype_name(results[0])
        rtol, atol = compare.tolerances(dtype, runs[0].has_product, getattr(results[0], "device", "cpu"))
        rtol = rtol if self.options.rtol is None else self.options.rtol
        atol = atol if self.options.atol is None else self.options.atol
        title = f"output {index}" if index is not None else f"input {name}"
        is_result = index is not None or not tensors.are_equal(expected, self.inputs[name])
        output = Output(title, is_result, compare.compare(results[0], expected, rtol, atol))
        if tensors.is_tensor(results[0]):
            blank = tensors.has_pattern(results[0], _PATTERNS[0]) & tensors.has_pattern(results[1], _PATTERNS[1])
            places = numpy.flatnonzero(blank)
            output.unwritten = len(places)
            shape = tuple(results[0].shape)
            output.first_unwritten = [[int(at) for at in numpy.unravel_index(place, shape)] for place in places[:_SHOWN]]
            if output.comparison.wrong:
                output.writer = self.find_writer(runs[0], results[0], output.comparison.worst)
        return output

    def find_writer(self, run, result, index):
        """(kernel, program) that wrote an element last. Programs are watched on the CPU, where the same kernel runs as well."""
        steps = sum(at * step for at, step in zip(index, tensors.steps(result)))
        size = tensors.item_bytes(result)
        place = run.allocations.place(tensors.address(result) + steps * size)
        if place is None:  # memory that was made in a way that is not followed
            return None
        try:
            self.run(self.file.kernel_fn, _PATTERNS[0], (*place, size), "cpu" if self.options.device or tensors.is_on_gpu(result) else None)
        except Exception:
            pass  # there is no answer, then; the verdict stands
        return _core.watched_writer()


def _mismatch(run, reference):
    """Why results cannot be compared, or None."""
    if (run.outputs is None) != (reference.outputs is None):
        return f"kernel_fn returns {_kind(run.outputs)}, and reference_fn {_kind(reference.outputs)}"
    if run.outputs is None:
        return None
    if len(run.outputs) != len(reference.outputs):
        return f"kernel_fn returns {len(run.outputs)} results, and reference_fn {len(reference.outputs)}"
    is_exact = not any(tensors.is_tensor(value) and tensors.dtype_name(value) == "float64" for value in run.inputs.values())
    for index, (result, expected) in enumerate(zip(run.outputs, reference.outputs)):
        if not _is_comparable(result, expected, is_exact):
            return f"output {index} is {tensors.describe(result)} from kernel_fn, and {tensors.describe(expected)} from reference_fn"
    return None


def _kind(outputs):
    return "nothing" if outputs is None else f"{len(outputs)} result{'s' if len(outputs) != 1 else ''}"


def _is_comparable(result, expected, is_exact):
    """Whether both are of one type and shape. is_exact: a float64 reference was made so on purpose, and judges all floats."""
    if not (hasattr(result, "shape") and hasattr(expected, "shape")):
        return type(result) is type(expected)
    is_judge = is_exact and tensors.dtype_name(expected) == "float64" and tensors.is_float(result)
    return tuple(result.shape) == tuple(expected.shape) and (is_judge or tensors.dtype_name(result) == tensors.dtype_name(expected))


def _results(run, reference):
    """What is compared: (name, index, expected). Index None: an input that one of the two wrote to."""
    returned = set()
    for index, expected in enumerate(reference.outputs or []):
        if tensors.is_tensor(run.outputs[index]):
            returned.add(tensors.address(run.outputs[index]))
        yield "", index, expected
    for name, value in run.inputs.items():
        if tensors.is_tensor(value) and math.prod(value.shape) and tensors.address(value) not in returned:
            yield name, None, reference.inputs[name]


def _out_of_bounds(run):
    names = {id(value): f"input {name}" for name, value in run.inputs.items()}
    return [f"kernel_fn writes outside of {names.get(id(guarded.tensor), 'a tensor that it allocates')} ({tensors.describe(guarded.tensor)})"
            for guarded in run.allocations.made if not guarded.is_untouched()]


@dataclasses.dataclass
class Options:
    rtol: float = None  # None: by type, see _author/compare.py
    atol: float = None
    device: str = None  # None: where get_inputs puts them
    kinds: tuple = variants.KINDS
    seed: int = 0


def _seed(number):
    random.seed(number)
    numpy.random.seed(number)
    if tensors.torch() is not None:
        tensors.torch().manual_seed(number)


def _check_device(device):
    torch = tensors.torch()
    if device is None:
        return
    if torch is None:
        raise KernelFileError("--device places PyTorch's tensors, and this file does not use PyTorch")
    try:
        wanted = torch.device(device)
    except RuntimeError as error:
        raise KernelFileError(f"--device wants cpu, cuda or cuda:N, not '{device}'") from error
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise KernelFileError(f"--device {device}: PyTorch finds no GPU here")


def verify(path, options=Options(), tell=lambda verdict: None):
    """Judges a kernel file. `tell` is called with each verdict as it is found. Raises KernelFileError for a file that cannot be judged."""
    file = KernelFile(path)
    _check_device(options.device)
    verdicts = []

    def fresh():
        _seed(options.seed + len(verdicts))
        with Allocations(_PATTERNS[0]).active(options.device), torch_mode(options.device):
            return file.inputs()

    derived = list(variants.variants(fresh(), options.kinds))
    with progress("verifying", len(derived)) as bar:
        for variant in derived:
            judge = _Judge(file, options, variant, fresh()) if not variant.unfit else None
            verdict = judge.judge() if judge else Verdict(variant.name, variant.kind, "skipped", [], variant.unfit)
            verdicts.append(verdict)
            bar.erase()
            tell(verdict)
            bar.step()
    return Report(verdicts)


def add_options(parser, nargs=None):
    parser.add_argument("file", metavar="KERNEL.py", nargs=nargs, help="exports kernel_fn, reference_fn and get_inputs")
    parser.add_argument("--rtol", type=float, help="relative tolerance; default by type: float16 1e-3, bfloat16 1e-2, float32 1e-5")
    parser.add_argument("--atol", type=float, help="absolute tolerance; likewise")
    parser.add_argument("--device", help="cpu, cuda or cuda:N, whatever the file says (PyTorch)")
    parser.add_argument("--seed", type=int, default=0, help="for random inputs; default 0")
    parser.add_argument("--json", action="store_true", help="one JSON object on the standard output")


def read_options(line):
    for name in ("rtol", "atol"):
        value = getattr(line, name)
        if value is not None and not (value >= 0 and math.isfinite(value)):
            raise command.CommandError(f"--{name} wants a number that is not negative, not {value}")
    return Options(line.rtol, line.atol, line.device, seed=line.seed)


def tell(verdict, file):
    print(f"  {verdict.outcome:<8} {verdict.variant:<20} {', '.join(verdict.inputs)}", file=file)
    if verdict.details:
        print(textwrap.indent(verdict.details, " " * 11), file=file)
    file.flush()


def main(arguments):
    parser = command.Parser("verify", description="Does a kernel compute what its reference computes?", epilog=f"Variants: {', '.join(variants.KINDS)}."
                            " Exit status: 0, 1 where a result is wrong or the file cannot be judged.\n\n"
                            "  tilewright verify kernel.py\n  tilewright verify kernel.py --rtol 1e-3 --atol 1e-3 --json\n"
                            "  tilewright verify kernel.py --variants given,odd")
    add_options(parser)
    parser.add_argument("--variants", default=",".join(variants.KINDS), help="which; default all")
    line = parser.parse_args(arguments)
    options = read_options(line)
    options.kinds = tuple(line.variants.split(","))
    for kind in options.kinds:
        if kind not in variants.KINDS:
            parser.error(f"--variants knows {', '.join(variants.KINDS)}, not '{kind}'")
    with command.results_alone() as results:
        report = verify(line.file, options, lambda verdict: None if line.json else tell(verdict, results))
        if line.json:
            command.write_json(report.as_dict(), results)
        else:
            print(f"{'correct' if report.correct else 'WRONG'}: {report.details}", file=results)
    return 0 if report.correct else command.WRONG


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
