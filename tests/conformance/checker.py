"""Finds out whether upstream Triton's front end accepts signatures. tests/conformance/libraries runs it with a Python that has upstream Triton.

Each line of input is a question: {"path", "name", "signatures"}. The answer adds "results": "accepted", or upstream's message. A library's module is
imported with stand-ins for packages that are not installed: kernels need the module's constants and helpers, and rarely anything else. If
the stand-ins do not suffice, no signature is checked.
"""

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import signal
import sys
import types

import torch
import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

DTYPES = {"fp16": tl.float16, "bf16": tl.bfloat16, "fp32": tl.float32, "fp64": tl.float64, "int8": tl.int8, "int16": tl.int16, "int32": tl.int32,
          "int64": tl.int64, "uint8": tl.uint8, "fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5}
BACKEND = make_backend(GPUTarget("cuda", 90, 32))


class AnyMeta(type):
    """Every attribute, call and operation gives Any."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Any

    def __call__(cls, *arguments, **named):
        if cls is not Any:
            return type.__call__(cls, *arguments, **named)
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) and not isinstance(arguments[0], AnyMeta) else Any  # a decorator

    def __bool__(cls):
        return False

    def __iter__(cls):
        return iter(())

    def __int__(cls):
        return 1

    __index__ = __int__

    def __lt__(cls, other):
        return False

    __gt__ = __ge__ = __le__ = __lt__

    def __or__(cls, other):
        return Any

    __ror__ = __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __getitem__ = __or__


class Any(metaclass=AnyMeta):
    pass


class Absent(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Any


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stand-ins for packages that a library imports and that are not installed. Installed packages get none for the modules that they lack."""

    def find_spec(self, name, path, target=None):
        frame = sys._getframe(1)
        while frame and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        installed = frame is None or "site-packages" in frame.f_code.co_filename
        real = {"triton", "torch", "numpy"} | sys.stdlib_module_names
        return None if installed or name.split(".")[0] in real else importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


class Patient(importlib.machinery.SourceFileLoader):
    """Runs a library's module statement by statement, so that a statement which fails here does not keep the others from running."""

    def run(self, statement, module):
        exec(compile(ast.Module([statement], []), self.path, "exec"), module.__dict__)

    def exec_module(self, module):
        for statement in ast.parse(self.get_data(self.path), self.path).body:
            try:
                self.run(statement, module)
            except BaseException as error:
                if isinstance(error, ImportError) and "'triton" in str(error):
                    raise  # the file is for another Triton
                module.__dict__.setdefault("_stopped", error)
                self.stand_in(statement, module)

    def stand_in(self, statement, module):
        """Binds the names of a failed statement to Any; a kernel is kept without its tuner."""
        if isinstance(statement, ast.FunctionDef):
            statement.decorator_list = [each for each in statement.decorator_list if "jit" in ast.unparse(each)]
            try:
                self.run(statement, module)
            except BaseException as error:
                module._stopped = error
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            module.__dict__.update((alias.asname or alias.name.split(".")[0], Any) for alias in statement.names)
        elif isinstance(statement, ast.Assign):
            module.__dict__.update((target.id, Any) for target in statement.targets if isinstance(target, ast.Name))


class PatientFinder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        own = spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader) and spec.origin.startswith(tuple(FOLDERS))
        return importlib.util.spec_from_file_location(name, spec.origin, loader=Patient(name, spec.origin),
                                                      submodule_search_locations=spec.submodule_search_locations) if own else None


FOLDERS = []  # the folders of the libraries in question


class Machine:
    """Pretends that there is an H100, because modules ask at import which machine this is."""

    def get_current_target(self):
        return BACKEND.target

    def get_current_device(self):
        return 0

    def get_device_capability(self, device=None):
        return (9, 0)

    def __getattr__(self, name):
        return Any


def version(name, found=importlib.metadata.version):
    """A library's source lies in a folder and is not installed, and some ask for their own version."""
    try:
        return found(name)
    except importlib.metadata.PackageNotFoundError:
        return "1.0.0"


def pretend():
    importlib.metadata.version = version
    properties = types.SimpleNamespace(name="NVIDIA H100", major=9, minor=0, multi_processor_count=132, total_memory=80 << 30, warp_size=32,
                                       max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, shared_memory_per_block_optin=232448)
    triton.runtime.driver.set_active(Machine())
    for name, backend in triton.backends.backends.items():  # vLLM has kernels only where just one is active
        backend.driver.is_active = staticmethod(lambda name=name: name == "nvidia")
    for name, value in {"is_available": True, "device_count": 1, "current_device": 0, "get_device_capability": (9, 0), "get_device_name": properties.name,
                        "get_device_properties": properties}.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)


def load(path):
    folder, parts = os.path.dirname(path), [os.path.splitext(os.path.basename(path))[0]]
    # A folder without __init__.py belongs to the package that it lies in.
    while any(os.path.exists(os.path.join(place, "__init__.py")) for place in (folder, os.path.dirname(folder))):
        parts.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    FOLDERS.append(folder + os.sep)
    for count in range(1, len(parts)):
        name = ".".join(parts[:count])
        try:
            importlib.import_module(name)
        except BaseException:  # a package that cannot be imported here is treated as the mere folder of its modules
            module = sys.modules[name] = Absent(name)
            module.__path__ = [os.path.join(folder, *parts[:count])]
    name = ".".join(parts)
    if not hasattr(sys.modules.get(name), "__file__"):
        module = sys.modules[name] = importlib.util.module_from_spec(spec := importlib.util.spec_from_file_location(name, path, loader=Patient(name, path)))
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            module._stopped = error
    return sys.modules[name]


def function_of(module, name):
    if not hasattr(module, name):
        raise getattr(module, "_stopped", AttributeError(name))
    function = getattr(module, name)
    while not isinstance(function, triton.runtime.jit.JITFunction):
        inner = [value for value in vars(function).values() if isinstance(value, triton.runtime.jit.JITFunction)]
        function = inner[0] if inner else function.fn
    return function


def source(function, given):
    signature, constants, attributes = {}, {}, {}
    for index, (name, parameter) in enumerate(zip(function.arg_names, function.params)):
        text = given.get(name)
        if text is not None and not parameter.is_constexpr:
            signature[name] = text if text.startswith("tensordesc") else text.split(":")[0]
            if text.endswith(":16"):
                attributes[(index,)] = [["tt.divisibility", 16]]
        else:
            signature[name] = "constexpr"
            default = parameter.default if parameter.has_default else None
            constants[(index,)] = default if text is None else DTYPES[text] if text in DTYPES else ast.literal_eval(text)
    return ASTSource(function, signature, constants, attributes)


def late(*_):
    raise TimeoutError("no end")


def result(function, signature):
    signal.alarm(60)
    try:
        options, context = BACKEND.parse_options({}), ir.context()
        ir.load_dialects(context)
        BACKEND.load_dialects(context)
        source(function, signature).make_ir(BACKEND.target, options, BACKEND.get_codegen_implementation(options), BACKEND.get_module_map(), context)
        return "accepted"
    except BaseException as error:
        texts = []
        while error is not None:
            texts.append(f"{type(error).__name__}: {str(error)[-200:]}")
            error = error.__cause__
        return " from ".join(reversed(texts))
    finally:
        signal.alarm(0)


def main():
    signal.signal(signal.SIGALRM, late)
    sys.meta_path.insert(0, PatientFinder())
    sys.meta_path.append(StandIns())
    pretend()
    for question in map(json.loads, sys.stdin):
        answers = os.dup(1)  # the answers go here; what modules print at import goes to stderr
        os.dup2(2, 1)
        try:
            function = function_of(load(question["path"]), question["name"])
            results = [result(function, signature) for signature in question["signatures"]]
        except BaseException as error:
            results = [f"not checked: {type(error).__name__}: {error}"] * len(question["signatures"])
        os.dup2(answers, 1)
        os.close(answers)
        print(json.dumps(question | {"results": results}), flush=True)


if __name__ == "__main__":
    main()
