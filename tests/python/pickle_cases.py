"""What crosses the border of a process: every class of the package, and an object of each that host code hands on.

Run as a program, it checks them all in this Python and prints their number. With a file of recorded answers as its argument, the extension is
replaced by these answers, so that Pythons for which no extension was built check the Python part.
"""

import importlib
import importlib.util
import inspect
import json
import pathlib
import pickle
import pkgutil
import sys
import tempfile
import types

# Their objects belong to one process: handles of machines, running measurements, parsed text, parts of commands.
OF_ONE_PROCESS = """
_C. _alias. _author. _core. _engine. _filecheck. _internal_testing. _progress. bench. compiler.operations. experimental.
profile. profiler. verify. tools.link. tools.c_text. tools.compile._ backends.driver. backends.nvidia.driver. backends.compiler.BaseBackend
backends.compiler.CPUBackend backends.compiler.CUDABackend compiler.compiled.CompiledKernel compiler.compiled.AsmDict compiler.ttgir._ runtime._allocation. runtime._async_compile.
runtime.cache. runtime.driver. runtime.rules. runtime.autotuner._ runtime.specialization. runtime.jit.KernelInterface runtime.jit.JITCallable runtime.jit.InterpretedFunction
runtime.jit.BoundConstexprFunction runtime.jit.CeilingDivision runtime.events. knobs.env_ knobs.base_knobs language.core._ language.core.base_ language.core.tensor
language.core.const language.core.range language.core.static_range language.core.condition language.aggregate. testing.Mark
""".split()


def public_classes():
    import tilewright
    found = set()
    for module in pkgutil.walk_packages(tilewright.__path__, "tilewright."):
        if module.name.endswith("__main__") or "_as_triton" in module.name:
            continue
        try:
            members = vars(importlib.import_module(module.name)).values()
        except ModuleNotFoundError as error:  # tools for PyTorch, and for NumPy
            assert error.name in ("torch", "numpy"), error
            continue
        found.update(value for value in members if isinstance(value, type) and value.__module__.startswith("tilewright"))
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))


def objects():
    """An object of each class that other processes are sent."""
    from tilewright import _errors, knobs, testing
    from tilewright.backends import Backend, CPUBackend, CPUDriver
    from tilewright.backends.compiler import CUDAOptions, GPUTarget, Language, Options
    from tilewright.compiler.compiled import KernelMetadata
    from tilewright.compiler.sources import ASTSource
    from tilewright.language import core
    from tilewright.runtime import autotuner, jit
    from tilewright.tools.compile import CompileArgs
    from tilewright.tools.tensor_descriptor import TensorDescriptor
    import pickled_kernels as kernels

    target = GPUTarget("cuda", 90, 32)
    options = CUDAOptions(num_warps=8, extern_libs={"libdevice": "a.bc"})
    width = len(KernelMetadata._fields)
    parameters = list(inspect.signature(kernels.scale.fn).parameters.values())
    return [
        target, Backend("cpu", CPUBackend, CPUDriver), Options(num_warps=2), options, Language.TRITON,
        KernelMetadata(*range(width))._replace(target=target),
        autotuner.Config({"BLOCK": 64}, num_warps=8, pre_hook=kernels.before), kernels.scale, kernels.tuned, kernels.tuned.fn, kernels.tuned.fn.fn, kernels.twice,
        jit.MockTensor(core.float32, [4]), jit.TensorWrapper([1, 2], core.float8e5), TensorDescriptor(kernels.Memory(), [4, 4], [4, 1], [4, 4]),
        *[jit.KernelParam(at, parameter, False, False) for at, parameter in enumerate(parameters)],
        core.float32, core.pointer_type(core.float16, const=True), core.block_type(core.int32, [16, 16]),
        core.tuple_type([core.int32, core.float32], ["a", "b"]), core.tensor_descriptor_type(core.block_type(core.int8, [16])), core.slice_type(),
        core.constexpr(3), core.constexpr(core.float32), core.constexpr_type(3), core.tuple([1, 2]), core.slice(0, 4, 1), core.PropagateNan.ALL, core.load,
        core.dtype.KIND.FLOATING,
        _errors.TritonError("text"), _errors.CompilationError("source", None, "text", rendered="k.py:1: text", diagnostics=[{"name": "x"}]),
        _errors.CompileTimeAssertionFailure("source", None, "text"), _errors.UnsupportedLanguageConstruct("source", None, "text"),
        _errors.InterpreterError("text"), _errors.PTXASError("text"), _errors.AutotunerError("text"), _errors.OptionError("text"),
        _errors.OutOfResources(8, 4, "shared memory"),
        knobs.env, knobs.NvidiaTool("ptxas", "13.0"), knobs.CompileTimes(1, [("ptx", 2)], 3), knobs.HookChain(reversed=True),
        *[getattr(knobs, name) for name in ("build", "redis", "cache", "compilation", "autotuning", "runtime", "language", "nvidia", "amd", "proton")],
        testing.Benchmark(["n"], [1], "which", ["a"], ["A"], "plot", {}), CompileArgs("k.py", kernel_name="k"),
        ASTSource(kernels.scale, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32"}, {"BLOCK": 16}), _text_source(),
        kernels.pair(), kernels.Pair,
    ]


def _text_source():
    from tilewright.compiler.sources import IRSource
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "k.ttir"
        path.write_text("module {}")
        return IRSource(path)


def _parts(value):
    """What two copies of an object have in common."""
    if isinstance(value, BaseException):
        return str(value), value.args, sorted(vars(value))
    made, given, *state = value.__reduce_ex__(4)
    return made, repr(given), [repr(part if not isinstance(part, dict) else sorted(part)) for part in state]


def _are_same(value, again):
    return type(value) is type(again) and (value is again or (value == again) is True or _parts(value) == _parts(again))


def handed_back(value):
    return value


def check():
    classes = public_classes()
    for kind in classes:
        assert pickle.loads(pickle.dumps(kind)) is kind, kind
    sent = objects()
    for value in sent:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            again = pickle.loads(pickle.dumps(value, protocol))
            assert _are_same(value, again), (value, again)
    met = {kind for value in sent for kind in type(value).__mro__}
    left = [path for kind in classes if kind not in met for path in [f"{kind.__module__}.{kind.__qualname__}".removeprefix("tilewright.")]
            if not path.startswith(tuple(OF_ONE_PROCESS))]
    assert not left, f"no object of these is pickled here: {left}"
    return len(classes), len(sent)


# ---- the extension's answers, for Pythons without one


class _Recorder(types.ModuleType):
    def __init__(self, module):
        super().__init__(module.__name__)
        self._module, self._answers = module, {}

    def __getattr__(self, name):
        value = getattr(self._module, name)
        if isinstance(value, type):
            self._answers[name] = None
        elif callable(value):
            return lambda *given: self._answer(name, value, given)
        else:
            self._answers[name] = [["value", value]]
        return value

    def _answer(self, name, function, given):
        result = function(*given)
        self._answers.setdefault(name, []).append([list(given), result])
        return result


class _Replayer(types.ModuleType):
    def __init__(self, answers):
        super().__init__("tilewright._core")
        self._answers = answers

    def __getattr__(self, name):
        if name.startswith("__") and name not in self._answers:
            raise AttributeError(name)
        known = self._answers.get(name, [])
        if known is None:
            made = type(name, (object,), {"__module__": "tilewright._core", "_observe": lambda *given: None, "_capture": lambda *given: None})
            setattr(self, name, made)
            return made
        if known and known[0][0] == "value":
            return known[0][1]
        return lambda *given: next((result for asked, result in known if asked == list(given)), None)


def record(path):
    """Writes what the extension answers while the package is imported and the objects are made."""
    spec = importlib.util.find_spec("tilewright")
    place = next(file for folder in spec.submodule_search_locations for file in pathlib.Path(folder).glob("_core.*.so"))
    loaded = importlib.util.spec_from_file_location("tilewright._core", place)
    module = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(module)
    recorder = sys.modules["tilewright._core"] = _Recorder(module)
    public_classes()
    objects()
    with open(path, "w") as file:
        json.dump(recorder._answers, file)


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[2])
    else:
        if sys.argv[1:]:
            with open(sys.argv[1]) as file:
                sys.modules["tilewright._core"] = _Replayer(json.load(file))
        print(*check())
