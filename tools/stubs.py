"""Writes what type checkers and editors know of the language: python/tilewright/language/*.pyi, from the tables of builtins.

    PYTHONPATH=build/python build/venv/bin/python tools/stubs.py [--check]

Editors complete `tl.lo` and show signatures and summaries from them; mypy checks names and arguments of calls. The rows are those of
src/evaluate/builtins.def, libdevice.def, library.def and element_types.def. --check says whether the files are up to date.
"""

import argparse
import ast
import inspect
import keyword
import pathlib
import re
import sys

from tilewright import _core
import tilewright
import tilewright.language as tl

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "python" / "tilewright" / "language"
HEAD = "# Written by tools/stubs.py from the tables of builtins: edit those.\n"
NO_RESULT = {"store", "static_print", "static_assert", "device_print", "device_assert", "debug_barrier", "assume", "scatter"}
TILE_FIRST = {"input", "x"}  # functions with such a first parameter are methods of tiles as well

CORE = '''from typing import Any

class dtype:
    name: str
    primitive_bitwidth: int
    itemsize: int
    def __init__(self, name: str) -> None: ...
    def is_floating(self) -> bool: ...
    def is_int(self) -> bool: ...
    def is_int_signed(self) -> bool: ...
    def is_int_unsigned(self) -> bool: ...
    def is_bool(self) -> bool: ...
    def is_ptr(self) -> bool: ...
    def is_fp8(self) -> bool: ...
    def __getattr__(self, name: str) -> Any: ...

class pointer_type(dtype):
    element_ty: dtype
    def __init__(self, element_ty: dtype, address_space: int = ..., const: bool = ...) -> None: ...

class block_type(dtype):
    def __init__(self, element_ty: dtype, shape: Any) -> None: ...

class constexpr(Any):
    """A value known at compile time: as the annotation of a parameter, or around a constant."""
    value: Any
    def __init__(self, value: Any) -> None: ...

class const:
    """The annotation of a pointer that a kernel does not write through."""

class tensor_descriptor(Any):
    """A tensor in memory, of which blocks are loaded and stored."""
    def load(self, offsets: Any) -> tensor: ...
    def store(self, offsets: Any, value: Any) -> None: ...

class range:
    """A loop with options; `for i in tl.range(...)`."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ..., num_stages: Any = ..., loop_unroll_factor: Any = ..., disallow_acc_multi_buffer: bool = ...,
                 flatten: bool = ..., warp_specialize: bool = ..., disable_licm: bool = ..., early_exit: bool = ...) -> None: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...

class static_range:
    """A loop that is unrolled."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ...) -> None: ...
    def __iter__(self) -> Any: ...
    def __next__(self) -> Any: ...

class condition(Any):
    """The condition of a while loop with options."""
    def __init__(self, arg1: Any, disable_licm: bool = ..., early_exit: bool = ...) -> None: ...

'''
BINARY = "add sub mul truediv floordiv mod pow lshift rshift and xor or matmul".split()
COMPARISONS = "lt le gt ge eq ne".split()


def parameters(signature, skip=0):
    """The parameters of a row as a stub has them: whether one has a default counts, and not which."""
    arguments = ast.parse(f"def {signature}: ...").body[0].args
    plain = [parameter.arg for parameter in arguments.args]
    first_default = len(plain) - len(arguments.defaults)
    parts = [f"{name}: Any{' = ...' if index >= first_default else ''}" for index, name in enumerate(plain)][skip:]
    if arguments.vararg:
        parts.append(f"*{arguments.vararg.arg}: Any")
    elif arguments.kwonlyargs:
        parts.append("*")
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        parts.append(f"{parameter.arg}: Any{' = ...' if default is not None else ''}")
    return parts


def function(name, signature, summary, indent="", skip=0, reference=""):
    """`reference` is the full text, which follows the summary."""
    own = ["self"] if skip else []
    result = "None" if name in NO_RESULT else "Any" if name in ("reduce", "associative_scan", "split", "max", "min") else "tensor"
    text = f"{summary[:1].upper() + summary[1:]}." + (f"\n\n{reference}\n" if reference else "")
    text = text.replace("\\", "\\\\").replace("\n", f"\n{indent}    ").replace(f"\n{indent}    \n", "\n\n")
    return f"{indent}def {name}({', '.join(own + parameters(signature, skip))}) -> {result}:\n{indent}    \"\"\"{text}\"\"\"\n"


def rows():
    return [row for row in [*_core.builtins(), *_core.library()] if row[1] and not keyword.iskeyword(row[0].rpartition(".")[2])]


def tensor_class(functions):
    lines = ["class tensor:", '    """A tile, or a scalar, of a running kernel."""', "    dtype: dtype", "    type: Any", "    shape: Any", "    numel: Any",
             "    T: tensor", "    def to(self, dtype: Any, fp_downcast_rounding: Any = ..., bitcast: Any = ...) -> tensor: ...",
             "    def __getitem__(self, index: Any) -> tensor: ...", "    def __neg__(self) -> tensor: ...", "    def __invert__(self) -> tensor: ...",
             "    def __bool__(self) -> bool: ...", "    def __index__(self) -> int: ..."]
    for name in BINARY:
        lines += [f"    def __{name}__(self, other: Any) -> tensor: ...", f"    def __r{name}__(self, other: Any) -> tensor: ..."]
    for name in COMPARISONS:
        ignored = "  # type: ignore[override]" if name in ("eq", "ne") else ""
        lines.append(f"    def __{name}__(self, other: Any) -> tensor: ...{ignored}")
    methods = ""
    for name, signature, summary in functions:
        first = ast.parse(f"def {signature}: ...").body[0].args.args
        if first and first[0].arg in TILE_FIRST and not name.startswith(("to_", "zeros")):
            methods += function(name, signature, summary, "    ", skip=1)
    return "\n".join(lines) + "\n" + methods


def language():
    classes = set(re.findall(r"^class (\w+)", CORE, re.M)) | {"tensor", "PropagateNan"}
    functions = [(path, signature, summary) for path, signature, summary in rows() if "." not in path and path not in classes]
    text = HEAD + CORE + tensor_class(functions) + "\n"
    text += "\n".join(f"{name}: dtype" for name in sorted(dir(tl)) if type(getattr(tl, name)) is tl.dtype) + "\n\n"
    text += "class PropagateNan:\n    NONE: Any\n    ALL: Any\n\n" + "".join(function(*row, reference=_core.reference(row[0])) for row in functions)
    text += "\nTRITON_MAX_TENSOR_NUMEL: int\n\nfrom . import core as core, extra as extra, math as math, random as random, standard as standard, target_info as target_info\n"
    return text


def module(path, is_package):
    members = [(row[0].removeprefix(path + "."), *row[1:]) for row in rows() if row[0].rpartition(".")[0] == path]
    depth = "." * (path.count(".") + (2 if is_package else 1))
    return HEAD + f"from typing import Any\nfrom {depth} import tensor as tensor\n\n" + "".join(function(*member, reference=_core.reference(f"{path}.{member[0]}")) for member in members)


def library():
    """A module of the library: its names are those of the language."""
    names = sorted(path for path, _, _ in _core.library() if "." not in path)
    return HEAD + "from . import " + ", ".join(f"{name} as {name}" for name in names) + "\n"


PACKAGE = '''from typing import Any, Callable
from . import language as language, testing as testing

class Config:
    """Values of constexpr parameters and launch options that @autotune may choose."""
    kwargs: dict[str, Any]
    def __init__(self, kwargs: dict[str, Any], num_warps: int = ..., num_stages: int = ..., num_ctas: int = ..., maxnreg: int | None = ...,
                 pre_hook: Callable[..., Any] | None = ..., **others: Any) -> None: ...

class KernelInterface(Any):
    def __getitem__(self, grid: Any) -> Callable[..., Any]: ...

class JITFunction(KernelInterface):
    """A kernel, or a function that kernels call. `kernel[grid](...)` launches it."""

class engine:
    """`with engine("interpret"):` runs kernels on the reference interpreter, "simulate" as simulated GPU code."""
    def __init__(self, name: str, check_bounds: bool = ..., target: str | None = ...) -> None: ...
    def __enter__(self) -> engine: ...
    def __exit__(self, *exception: Any) -> None: ...

def jit(fn: Any = ..., **options: Any) -> Any: ...
def constexpr_function(fn: Any) -> Any: ...
'''


def host_function(name, value):
    """A function of the package as it is; its types are not said."""
    signature = inspect.signature(value)
    parts = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    text = ", ".join(re.sub(r"=.*", ": Any = ...", str(part)) if part.default is not part.empty else f"{part}: Any" for part in parts)
    doc = (inspect.getdoc(value) or "").partition("\n")[0].replace("\\", "\\\\")
    return f"def {name}({text}) -> Any:\n" + (f'    """{doc}"""\n' if doc else "    ...\n")


def host_module(module, names, head):
    """What is not in `head`: functions as they are, everything else without a type."""
    text = HEAD + head
    for name in names:
        value = getattr(module, name)
        if not re.search(rf"^(class|def) {name}\b|\b{name} as {name}\b", head, re.M):
            text += host_function(name, value) if inspect.isfunction(value) else f"class {name}(Any): ...\n" if inspect.isclass(value) else f"{name}: Any\n"
    return text


def files():
    testing = [name for name, value in vars(tilewright.testing).items() if not name.startswith("_") and getattr(value, "__module__", "").endswith("testing")]
    made = {FOLDER.parent / "__init__.pyi": host_module(tilewright, [*tilewright.__all__, "tilewright_version", "triton_version"], PACKAGE),
            FOLDER.parent / "testing.pyi": host_module(tilewright.testing, testing, "from typing import Any\n\n")}
    made |= {FOLDER / "__init__.pyi": language(), FOLDER.parent / "py.typed": ""}
    for path in sorted({row[0].rpartition(".")[0] for row in rows()} - {"", "tensor", "tensor_descriptor"}):
        place = FOLDER / path.replace(".", "/")
        made[place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")] = module(path, place.is_dir())
    for name in ("random", "standard"):
        made[FOLDER / f"{name}.pyi"] = library()
    made[FOLDER / "core.pyi"] = HEAD + "from typing import Any\nfrom . import *\n\ndef __getattr__(name: str) -> Any: ...\n"
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for path, text in files().items():
        if check and (not path.exists() or path.read_text() != text):
            sys.exit(f"{path} is out of date: run tools/stubs.py")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
