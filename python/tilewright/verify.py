"""`tilewright verify KERNEL.py`: does a kernel compute what its reference computes?

    python -m tilewright.verify KERNEL.py [--rtol R] [--atol A] [--device cpu|cuda] [--json]

KERNEL.py exports kernel_fn, reference_fn and get_inputs (see _author/kernel_file.py). Each variant of the inputs (_author/variants.py) is
created twice and runs twice, in memory filled with two different patterns. This detects every element that the kernel does not write, and
writes beyond a tensor. The second run uses many threads. Then the interpreter runs the kernel with all checks, up to a limit of work. It finds
races between programs, whose results are often right, and names the line. If an element is wrong, another run on the CPU finds the program that
wrote it.
"""

import dataclasses
import math
import random
import sys
import warnings

import numpy

from . import _core, knobs
from ._author import command, tensors, variants
from ._author.allocations import Allocations, torch_mode
from ._author.kernel_file import KernelFile, KernelFileError, describe_exception
from ._errors import InterpreterError
from ._progress import progress

_MANY_THREADS = 8  # of the second run: a race needs several

Output, Report, VerifyResult = _core.Output, _core.Report, _core.VerifyResult


class _Launches:
    """Observes the launches of a run. has_dot: True if one of the kernels has a dot."""

    def __init__(self):
        self.has_dot = False

    def __enter__(self):
        knobs.runtime.launch_enter_hook.add(self._see)
        return self

    def __exit__(self, *_):
        knobs.runtime.launch_enter_hook.remove(self._see)

    def _see(self, metadata):
        self.has_dot |= "tt.dot" in metadata.kernel.asm.get("ttir", "")


@dataclasses.dataclass
class _Run:
    """The results of kernel_fn or reference_fn, in the form that the verifier reads."""
    raised: str = None  # the text of the error that ended it
    allocations: Allocations = None
    values: dict = None  # the inputs
    outputs: list = None  # None if it returned nothing
    has_dot: bool = False

    @property
    def results(self):
        if self.outputs is None:
            return None
        return [tensors.NamedTensor(f"output {index}", value) for index, value in enumerate(self.outputs)]

    @property
    def inputs(self):
        return [tensors.NamedTensor(f"input {name}", value) for name, value in self.values.items()]

    @property
    def out_of_bounds(self):
        names = {id(value): f"input {name}" for name, value in self.values.items()}
        return [f"{names.get(id(guarded.tensor), 'a tensor that it allocates')} ({tensors.describe(guarded.tensor)})"
                for guarded in self.allocations.made if not guarded.is_untouched()]


class _Callbacks:
    """The callbacks of the verifier in C++ (src/author/verifier.h), which decides what to run and checks the results."""

    def __init__(self, file, options, fresh, bar, tell):
        self.file, self.options, self._fresh, self._bar, self._tell = file, options, fresh, bar, tell

    def begin(self, variant, number):
        self.variant, self.inputs = variant, variants.derive(variant, self._fresh(number))
        self.first = None  # the kernel's first run
        return [tensors.NamedTensor(f"input {name}", value) for name, value in self.inputs.items()]

    def run(self, is_reference, pattern):
        try:
            with warnings.catch_warnings():
                if is_reference and self.variant.kind != "given":
                    warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's warnings about the mean of no elements and the like
                before = _core.force_threads(_MANY_THREADS if pattern else 0)
                try:
                    found = self._call(self.file.reference_fn if is_reference else self.file.kernel_fn, pattern)
                finally:
                    _core.force_threads(before)
        except Exception as error:
            return _Run(describe_exception(error))
        if not is_reference and pattern == 0:
            self.first = found
        return found

    def _call(self, function, pattern, watch=None, device=None):
        allocations = Allocations(_core.patterns[pattern], pattern != 0, watch, _core.watch_writes)

        def guarded(value):
            if not tensors.is_tensor(value):
                return value
            # An output among the inputs holds the pattern. A tensor of True looks the same but may hold values.
            may_be_blank = value.shape and math.prod(value.shape) and tensors.dtype_name(value) != "bool"
            is_blank = may_be_blank and tensors.has_pattern(value, _core.patterns[0]).all()
            return allocations.guard(value if device is None else tensors.on_cpu(value), not is_blank)

        inputs = {name: guarded(value) for name, value in self.inputs.items()}
        wanted = device or self.options.device
        with _Launches() as launches, allocations.active(wanted):
            outputs = self.file.call(function, inputs)
        tensors.wait(wanted)
        return _Run(None, allocations, inputs, outputs, launches.has_dot)

    def find_writer(self, result, number, place):
        """(kernel, program) that wrote an element last. The program is found by a run of the same kernel on the CPU."""
        run = self.first
        value = run.outputs[result] if result is not None else list(run.values.values())[number]
        index = numpy.unravel_index(place, tuple(value.shape))
        steps = sum(int(at) * step for at, step in zip(index, tensors.steps(value)))
        size = tensors.item_bytes(value)
        allocated = run.allocations.place(tensors.address(value) + steps * size)
        if allocated is None:  # the memory was allocated in a way that Allocations does not record
            return None
        try:
            self._call(self.file.kernel_fn, 0, (*allocated, size), "cpu" if self.options.device or tensors.is_on_gpu(value) else None)
        except Exception:
            pass  # the writer is unknown, but the result is still wrong
        return _core.watched_writer()

    def find_fault(self, max_work):
        """The first race, bad access or use of an undefined element that the interpreter finds on the CPU; "" if it finds none, or cannot run
        the kernel. In a large launch, only the first programs run."""
        on_gpu = any(tensors.is_tensor(value) and tensors.is_on_gpu(value) for value in self.inputs.values())
        before = _core.set_engine("interpret", True, None, True, max_work)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._call(self.file.kernel_fn, 0, None, "cpu" if self.options.device or on_gpu else None)
        except InterpreterError as error:
            return "" if _core.interpreter_gave_up() else f"the interpreter reports an error: {error}"
        except Exception:  # the compiled kernel has run, so this is the interpreter's
            return ""
        finally:
            _core.set_engine(*before)
        return ""

    def tell(self, result):
        self._bar.erase()
        self._tell(result)
        self._bar.step()


@dataclasses.dataclass
class Options:
    rtol: float = None  # None: chosen by the type (src/author/comparison)
    atol: float = None
    device: str = None  # None: the device on which get_inputs puts the tensors
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
        raise KernelFileError(f"--device expects cpu, cuda or cuda:N, got '{device}'") from error
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise KernelFileError(f"--device {device}: PyTorch finds no GPU here")


def verify(path, options=Options(), tell=lambda result: None):
    """Verifies a kernel file and returns the report. Calls `tell` with each result as it is found. Raises KernelFileError if it cannot be verified."""
    file = KernelFile(path)
    _check_device(options.device)

    def fresh(number):
        _seed(options.seed + number)
        with Allocations(_core.patterns[0]).active(options.device), torch_mode(options.device):
            return file.inputs()

    derived = variants.variants(fresh(0), options.kinds)
    with progress("verifying", len(derived)) as bar:
        report = _core.verify(derived, _Callbacks(file, options, fresh, bar, tell), options.rtol, options.atol)
    if isinstance(report, str):
        raise KernelFileError(report)
    return report


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
            raise command.CommandError(f"--{name} expects a finite number of at least 0, got {value}")
    return Options(line.rtol, line.atol, line.device, seed=line.seed)


def tell(result, file):
    print(result.text(), end="", file=file)
    file.flush()


def main(arguments):
    parser = command.Parser("verify", description="Does a kernel compute what its reference computes?", epilog=f"Variants: {', '.join(variants.KINDS)}."
                            " Exit status: 0, 1 where a result is wrong or the file cannot be verified.\n\n"
                            "  tilewright verify kernel.py\n  tilewright verify kernel.py --rtol 1e-3 --atol 1e-3 --json\n"
                            "  tilewright verify kernel.py --variants given,odd")
    add_options(parser)
    parser.add_argument("--variants", default=",".join(variants.KINDS), help="which; default all")
    line = parser.parse_args(arguments)
    options = read_options(line)
    options.kinds = tuple(line.variants.split(","))
    for kind in options.kinds:
        if kind not in variants.KINDS:
            parser.error(f"--variants expects some of {', '.join(variants.KINDS)}, got '{kind}'")
    with command.results_alone() as results:
        report = verify(line.file, options, lambda result: None if line.json else tell(result, results))
        if line.json:
            command.write_json(report.as_dict(), results)
        else:
            print(f"{'correct' if report.correct else 'WRONG'}: {report.details}", file=results)
    return 0 if report.correct else command.WRONG


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
