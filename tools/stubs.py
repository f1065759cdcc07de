"""Writes the stubs that type checkers and editors read: python/tilewright/**/*.pyi, and those of `import triton` that re-export them.

    PYTHONPATH=build/python build/venv/bin/python tools/stubs.py [--check]

Editors complete `tl.lo`, and show the signature and the reference of a builtin. mypy and pyright check the names and the arguments of calls. The rows
are those of src/evaluate/builtins.def, libdevice.def, library.def and element_types.def. Their parameters get the types of PARAMETERS, their results
those of RESULTS and OVERLOADS. stub_classes.py declares the classes and the package. A parameter without a type, and a name of the package without a
declaration, are errors. --check says if the files are up to date.

`Any` remains where a value can have any type:
- `tl.constexpr` as an annotation: a compile-time value is a number, a string, a type or a function, and is used as such. The result of arithmetic with
  it is of any type, too.
- the arguments of a launch and of a call of a kernel's helper: the function's annotations do not have the types of the values that callers pass.
- values by name of a kernel's parameters: the dictionaries of `Config`, of rules and of hooks.
- the result of a comparison is a tensor, and derives from Any: Python's `min` and `max` need comparisons that return a bool.
- objects of other packages (tensors, PyTorch's types and graphs, pandas' tables, cuBLAS), the items of a `tl.tuple` and of `tl.slice`, and the internals of
  `language.core`, `runtime.jit`, `runtime.autotuner` and `backends.compiler`.
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
from stub_classes import CONSTEXPR, CORE, KNOBS, PACKAGE, TARGETS, TESTING

PACKAGE_FOLDER = pathlib.Path(__file__).resolve().parents[1] / "python" / "tilewright"
FOLDER = PACKAGE_FOLDER / "language"
HEAD = "# Written by tools/stubs.py from the tables of builtins: edit those.\n"

# ---- types

# Types of parameters by name; PARAMETERS_OF has those that differ in one function, by path and name. The stubs have `_TensorLike` for `_T`.
PARAMETERS = {
    "*args": "_T", "*dims": "int | Sequence[int]", "*fields": "object", "*shape": "int | Sequence[int]", "*values": "object",
    "a": "_T", "acc": "tensor | None", "allow_tf32": "_T | None", "approx": "bool", "arg": "tensor", "arg0": "_T", "arg1": "_T", "arg2": "_T", "arg3": "_T",
    "arg_type_symbol_dict": "Mapping[builtins.tuple[_DType, ...], builtins.tuple[str, _DType]]", "args": "Sequence[_T]", "asm": "str", "axis": "int",
    "b": "_T", "base": "tensor", "bitcast": "bool", "block_shape": "Sequence[int]", "boundary_check": "int | Sequence[int]",
    "c0": "_T", "c1": "_T", "c2": "_T", "c3": "_T", "can_reorder": "bool", "cmp": "_T", "combine_fn": "Callable[..., object]", "cond": "_T",
    "condition": "_T", "constraints": "str", "desc": "tensor_descriptor", "descending": "bool", "dim": "int | None", "div": "_IntLike", "dst_ty": "_DType",
    "dtype": "_DType", "end": "int", "eviction_policy": "Literal['', 'evict_first', 'evict_last', 'evict_normal'] | None", "expected_value": "_IntLike",
    "fast_math": "bool", "file": "object", "flush": "bool", "fp_downcast_rounding": "Literal['rtne', 'rtz'] | None", "hex": "bool",
    "i": "_IntLike", "ieee_rounding": "bool", "index": "tensor", "input": "_T",
    "input_precision": "Literal['tf32', 'tf32x3', 'ieee', 'bf16x3', 'bf16x6'] | None", "instance": "_Aggregate", "is_pure": "bool",
    "j": "_IntLike", "k": "int", "k0": "_IntLike", "k1": "_IntLike", "keep_dims": "bool", "lhs": "tensor", "lhs_format": "_ScaledFormat", "lhs_k_pack": "bool",
    "lhs_scale": "tensor | None", "lib_name": "str", "lib_path": "str", "major": "int", "mask": "tensor | bool | None", "max": "_T",
    "max_num_imprecise_acc": "int | None", "min": "_T", "minor": "int", "msg": "str", "n_rounds": "int", "num_bins": "int",
    "offset": "_IntLike", "offsets": "Sequence[_IntLike]", "order": "Sequence[int]", "other": "_T", "out_dtype": "_DType | None", "pack": "int",
    "padding_option": "Literal['', 'zero', 'nan']", "pointer": "tensor", "prefix": "str", "propagate_nan": "_PropagateNan",
    "return_indices": "bool", "return_indices_tie_break_left": "bool", "reverse": "bool", "rhs": "tensor", "rhs_format": "_ScaledFormat", "rhs_k_pack": "bool",
    "rhs_scale": "tensor | None", "sanitize_overflow": "bool", "scalar_fn": "Callable[..., _R]", "scope": "Literal['gpu', 'cta', 'sys'] | None",
    "seed": "_IntLike", "sem": "Literal['acquire', 'release', 'acq_rel', 'relaxed'] | None", "sep": "str", "shape": "Sequence[_IntLike]",
    "size_g": "_IntLike", "size_i": "_IntLike", "size_j": "_IntLike", "src": "tensor", "start": "int",
    "strides": "Sequence[_IntLike]", "tie_break_left": "bool",
    "timeout_ns": "int | None", "u1": "_T", "u2": "_T", "val": "_T", "value": "_T", "values": "int | Sequence[int]", "volatile": "bool", "x": "_T",
    "x_offsets": "tensor", "y": "_T", "y_offset": "_IntLike", "z": "_T",
}
PARAMETERS_OF = {
    ("program_id", "axis"): "Literal[0, 1, 2]", ("num_programs", "axis"): "Literal[0, 1, 2]", ("expand_dims", "axis"): "int | Sequence[int]",
    ("full", "shape"): "int | Sequence[int]", ("zeros", "shape"): "int | Sequence[int]", ("cast", "dtype"): "_DType | str",
    ("squeeze", "dim"): "int", ("unsqueeze", "dim"): "int", ("cat", "dim"): "int", ("dot", "input"): "tensor", ("dot", "other"): "tensor",
    ("reduce", "axis"): "int | None", ("softmax", "keep_dims"): "bool | None", ("static_print", "end"): "str | None",
    ("sort_impl", "k"): "int | None", ("load", "other"): "_T | None", ("histogram", "input"): "tensor", ("expect_zero", "mask"): "tensor | bool",
    ("load", "cache_modifier"): "Literal['', '.ca', '.cg', '.cs', '.cv'] | None", ("store", "cache_modifier"): "Literal['', '.wb', '.cg', '.cs', '.wt'] | None",
    ("inline_asm_elementwise", "dtype"): "_DType", ("cdiv", "x"): "_IntLike",
    **{(name, "axis"): "int | None" for name in ("sum", "max", "min", "xor_sum", "reduce_or")},
    **{(name, "dtype"): "_DType | None" for name in ("sum", "cumsum", "cumprod")},
    **{(f"tensor_descriptor.atomic_{name}", "value"): "tensor" for name in ("add", "min", "max", "and", "or", "xor")},
    ("store_tensor_descriptor", "value"): "tensor", ("tensor_descriptor.scatter", "value"): "tensor",
}
BY_NAME = {"aggregate_replace"}  # the rows whose variadic parameter takes keywords
DEFAULTS = {"propagate_nan": "_PropagateNan.NONE"}  # a stub repeats the other defaults of a row

# Types of results by path. Other functions return a tensor.
RESULTS = {
    **dict.fromkeys(("store", "static_print", "static_assert", "device_print", "device_assert", "debug_barrier", "assume", "atomic_store",
                     "store_tensor_descriptor", "tensor_descriptor.scatter", "extra.cuda.gdc_wait", "extra.cuda.gdc_launch_dependents"), "None"),
    **{f"tensor_descriptor.atomic_{name}": "None" for name in ("add", "min", "max", "and", "or", "xor")},
    **dict.fromkeys(("broadcast", "split", "pair_uniform_to_normal", "swizzle2d"), "builtins.tuple[tensor, tensor]"),
    **dict.fromkeys(("philox", "philox_impl", "randint4x", "rand4x", "randn4x"), "builtins.tuple[tensor, tensor, tensor, tensor]"),
    "make_tensor_descriptor": "tensor_descriptor", "aggregate_replace": "_Aggregate", "map_elementwise": "_R",
    "target_info.current_target": "str | GPUTarget | None", "extra.cuda.num_threads": "int", "extra.cuda.num_warps": "int",
    **{f"target_info.{name}": "bool" for name in ("is_cuda", "cuda_capability_geq", "is_hip", "is_hip_cdna3", "is_hip_cdna4", "is_hip_gfx1250")},
}
# Functions whose result depends on an argument: for each form, types of parameters that replace those above ("name!": without a default), and the result.
TWO, MANY = "builtins.tuple[tensor, tensor]", "builtins.tuple[tensor, ...]"
OVERLOADS = {
    **dict.fromkeys(("max", "min"), [({"return_indices": "Literal[False]"}, "tensor"), ({"return_indices!": "Literal[True]"}, TWO),
                                     ({"axis!": "int | None", "return_indices!": "Literal[True]"}, TWO)]),
    **dict.fromkeys(("reduce", "associative_scan"), [({"input": "_T"}, "tensor"), ({"input": "Sequence[_T]"}, MANY)]),
    "inline_asm_elementwise": [({"dtype": "_DType"}, "tensor"), ({"dtype": "Sequence[_DType]"}, MANY)],
    "cdiv": [({"x": "int", "div": "int"}, "int"), ({"x": "tensor", "div": "_IntLike"}, "tensor"), ({"x": "int", "div": "tensor"}, "tensor")],
}

# ---- operators, settings and modules

BINARY = "add sub mul truediv floordiv mod lshift rshift and xor or".split()
COMPARISONS = "lt le gt ge eq ne".split()
KNOB_TYPES = {
    "env_bool": "env_base[bool, bool]", "env_opt_bool": "env_base[bool | None, bool | None]", "env_opt_str": "env_base[str | None, str | None]",
    "env_str": "env_base[str, str]", "env_str_callable_default": "env_base[str, str]", "env_int": "env_base[int, int]",
    "env_class": "env_base[type | None, type | None]", "env_nvidia_tool": "env_base[NvidiaTool, str | None]", "HookChain": "HookChain",
    "bool": "bool", "str": "str", "NoneType": "Callable[..., object] | None",
}
KNOB_METHODS = {
    "backend_dirs": "    @property\n    def backend_dirs(self) -> set[str]: ...\n", "get_triton_dir": "    def get_triton_dir(self, name: str) -> str: ...\n",
    "fp_fusion_enabled": "    def fp_fusion_enabled(self, requested: bool | None) -> bool: ...\n",
}
# Modules whose public classes are those of the package; other names of theirs are internal.
RUNTIME = {
    "runtime/jit": "ConstexprFunction JITFunction KernelInterface MockTensor TensorWrapper constexpr_function jit reinterpret",
    "runtime/autotuner": "Autotuner Config Heuristics autotune heuristics",
}


# ---- functions of the language


def docstring(text, indent):
    text = text.rstrip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    if text.endswith('"'):
        text = text[:-1] + '\\"'
    lines = text.split("\n")
    body = "\n".join([lines[0], *((indent + line if line else "") for line in lines[1:])])
    return f'{indent}"""{body}' + (f"\n{indent}" if len(lines) > 1 else "") + '"""\n'


def documentation(path, summary):
    """The text of a builtin: its reference, which begins with a sentence about it, or its summary if it has none."""
    return _core.reference(path) or f"{summary[:1].upper() + summary[1:]}."


def type_of(path, name, changed):
    found = changed.get(name) or PARAMETERS_OF.get((path, name)) or PARAMETERS.get(name)
    if found is None:
        sys.exit(f"tools/stubs.py: PARAMETERS has no type for '{name}' of tl.{path}")
    return re.sub(r"\b_T\b", "_TensorLike", found)


def parameters(path, signature, changed, skip=0):
    """The parameters of a row with their types and defaults. Those of `changed` differ from the tables."""
    arguments = ast.parse(f"def {signature}: ...").body[0].args
    required = {name[:-1] for name in changed if name.endswith("!")}
    changed = {name.rstrip("!"): kind for name, kind in changed.items()}
    parts = []

    def add(name, default):
        kind = type_of(path, name, changed)
        if default is None or name in required:
            if name in required and any(" = " in part for part in parts):
                parts.append("*")
            parts.append(f"{name}: {kind}")
            return
        text = DEFAULTS.get(name) or ast.unparse(default)
        if text == "None" and "None" not in kind:
            kind += " | None"
        parts.append(f"{name}: {kind} = {text}")

    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    for parameter, default in list(zip(arguments.args, defaults))[skip:]:
        add(parameter.arg, default)
    if arguments.vararg:
        parts.append(f"{'**' if path in BY_NAME else '*'}{arguments.vararg.arg}: {type_of(path, '*' + arguments.vararg.arg, changed)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        add(parameter.arg, default)
    return ["self", *parts] if skip else parts


def function(path, signature, summary, method=""):
    """A builtin, or a method of a class, which has no first parameter: `method` is its name there."""
    name, indent, skip = (method, "    ", 1) if method else (path.rpartition(".")[2], "", 0)
    forms = OVERLOADS.get(path, [({}, RESULTS.get(path, "tensor"))])
    text = ""
    if skip:
        first = ast.parse(f"def {signature}: ...").body[0].args.args[0].arg
        forms = [form for form in forms if not form[0].get(first, "").startswith(("Sequence", "int"))]
    for changed, result in forms:
        text += f"{indent}@overload\n" if len(forms) > 1 else ""
        text += f"{indent}def {name}({', '.join(parameters(path, signature, changed, skip))}) -> {result}:\n"
        text += docstring(documentation(path, summary), indent + "    ")
    return text


def rows():
    return [row for row in [*_core.builtins(), *_core.library()]
            if row[1] and not keyword.iskeyword(row[0].rpartition(".")[2]) and not row[0].startswith("_")]


def tensor_methods():
    """The operators and the methods of tiles; src/frontend/emit_builtins.cpp lists the names of the methods."""
    lines = ""
    for name in BINARY:
        lines += f"    def __{name}__(self, other: _TensorLike) -> tensor: ...\n    def __r{name}__(self, other: _TensorLike) -> tensor: ...\n"
    for name in COMPARISONS:
        kind, note = ("object", "  # type: ignore[override]") if name in ("eq", "ne") else ("_TensorLike", "")
        lines += f"    def __{name}__(self, other: {kind}) -> _Condition: ...{note}\n"
    source = (PACKAGE_FOLDER.parents[1] / "src" / "frontend" / "emit_builtins.cpp").read_text()
    methods = set(re.findall(r'"(\w+)"', re.search(r"bool isMethod\(.*?\{(.*?)\};", source, re.S)[1]))
    found = {row[0].removeprefix("tensor."): row for row in rows() if row[0] in methods or row[0].startswith("tensor.")}
    if missing := methods - set(found):
        sys.exit(f"tools/stubs.py: there is no row for the methods {sorted(missing)}")
    return lines + "".join(function(*row, method=name) for name, row in found.items())


def descriptor_methods():
    table = {row[0]: row for row in rows()}
    text = function(*table["load_tensor_descriptor"], method="load") + function(*table["store_tensor_descriptor"], method="store")
    return text + "".join(function(*row, method=path.partition(".")[2]) for path, row in table.items() if path.startswith("tensor_descriptor."))


def questions():
    names = sorted(name for name in dir(tl.dtype) if name.startswith("is_") and name != "is_dtype")
    return "".join(f"    def {name}(self) -> bool: ...\n" for name in names)


def described(text, doc_of):
    """Adds documentation to the classes and functions of a stub that have none: doc_of(name) returns it, or ''."""
    lines = text.split("\n")
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    top = {id(node) for node in ast.parse(text).body}
    for node in sorted(nodes, key=lambda node: -node.lineno):
        is_inner = isinstance(node, ast.FunctionDef) and node.col_offset > 0
        if is_inner or ast.get_docstring(node) or not (doc := doc_of(node.name)):
            continue
        indent = " " * (node.col_offset + 4)
        body = docstring(doc, indent).rstrip("\n")
        first, last = node.lineno - 1, node.body[0].lineno - 1
        head = lines[last]
        if re.search(r"\.\.\.(\s*#.*)?$", head) and isinstance(node.body[0], ast.Expr):
            note = head.partition("...  #")[2] if "...  #" in head else ""
            lines[last] = head[:head.rindex(": ...") + 1] + (f"  #{note}" if note else "") + "\n" + body
        else:
            while not lines[first].rstrip().endswith(":"):
                first += 1
            lines[first] += "\n" + body
    return "\n".join(lines)


def language():
    core = CORE.replace("\\\n", "")
    core = core.replace("QUESTIONS\n", questions() + "\n").replace("DESCRIPTOR_METHODS\n", descriptor_methods() + "\n")
    core = core.replace("TENSOR_METHODS\n", tensor_methods() + "\n")
    summaries = {row[0]: row[2] for row in rows()}
    core = described(core, lambda name: documentation(name, summaries[name]) if name in summaries else "")
    defined = {node.name for node in ast.walk(ast.parse(CORE)) if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    functions = [row for row in rows() if "." not in row[0] and row[0] not in defined]
    types = "\n".join(f"{name}: dtype" for name in sorted(dir(tl)) if type(getattr(tl, name)) is tl.dtype)
    modules = "from . import core as core, extra as extra, math as math, random as random, standard as standard, target_info as target_info\n"
    return HEAD + core + "\n" + types + "\n\n" + "".join(function(*row) for row in functions) + "\n" + modules


def module(path, is_package):
    members = [row for row in rows() if row[0].rpartition(".")[0] == path]
    text = "".join(function(*row) for row in members)
    depth = "." * (path.count(".") + (2 if is_package else 1))
    head = ""
    names = [name for name in ("_DType", "_TensorLike", "tensor") if re.search(rf"\b{name}\b", re.sub(r'"""(.|\n)*?"""', "", text))]
    if "Literal" in text:
        head += "from typing import Literal\n"
    if "GPUTarget" in text:
        head += f"from {depth}.backends.compiler import GPUTarget\n"
    return HEAD + head + (f"from {depth} import {', '.join(f'{name} as {name}' for name in names)}\n" if names else "") + "\n" + text


def cuda(text):
    """The package `tl.extra.cuda` and its modules, which have its functions again."""
    folder = FOLDER / "extra" / "cuda"
    names = re.findall(r"^def (\w+)", text, re.M)
    waits = [name for name in names if name.startswith("gdc_")]
    modules = {"gdc": waits, "utils": [name for name in names if name not in waits]}
    for module_name, members in modules.items():
        yield folder / f"{module_name}.pyi", HEAD + "from . import " + ", ".join(f"{name} as {name}" for name in members) + "\n"
    yield folder / "libdevice.pyi", HEAD + "from ..libdevice import *\n"
    yield folder / "__init__.pyi", text + "\nfrom . import gdc as gdc, libdevice as libdevice, utils as utils\n"


def library():
    """A module of the library: its names are those of the language."""
    names = sorted(path for path, _, _ in _core.library() if "." not in path)
    return HEAD + "from . import " + ", ".join(f"{name} as {name}" for name in names) + "\n"


# ---- the package


def check_parameters(where, node, value):
    """A function's stub has the parameters of the function itself. A form of an overloaded one may have fewer."""
    own = list(inspect.signature(value).parameters)
    arguments = node.args
    stub = [argument.arg for argument in [*arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg] if argument]
    if stub != (own[:len(stub)] if node.decorator_list else own):
        sys.exit(f"tools/stubs.py: the parameters of {where} are {own}; its stub has {stub}")


def host_module(module, names, text):
    """A stub of a Python module: `text` declares all of `names`. The documentation is the module's own."""
    tree = ast.parse(text)
    declared = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names if alias.asname}
    declared |= {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            value = getattr(module, node.name)
            check_parameters(node.name, node, getattr(value, "fn", value))
        elif isinstance(node, ast.ClassDef) and inspect.isclass(value := getattr(module, node.name, None)):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and inspect.isfunction(function := vars(value).get(method.name)):
                    check_parameters(f"{node.name}.{method.name}", method, function)
        else:
            continue
        declared.add(node.name)
    if missing := sorted(set(names) - declared):
        sys.exit(f"tools/stubs.py: {module.__name__} has no stub for {missing}")

    def doc_of(name):
        value = getattr(module, name, None)
        doc = inspect.getdoc(getattr(value, "fn", value)) if value is not None else ""
        return "" if not doc or doc.startswith(f"{name}(") else doc

    return HEAD + described(text, doc_of)


def internal(depth, names):
    """A module of the package's own classes; other names are internal, and can be of any type."""
    imports = "".join(f"from {depth} import {name} as {name}\n" for name in names)
    return HEAD + "from typing import Any\n" + imports + "\ndef __getattr__(name: str) -> Any: ...\n"


def knobs():
    """The groups of settings: an attribute for each."""
    text = KNOBS
    for name, group in vars(tilewright.knobs).items():
        if not isinstance(group, tilewright.knobs.base_knobs):
            continue
        text += f"\nclass {name}_knobs(base_knobs):\n"
        for member, value in {**vars(type(group)), **vars(group)}.items():
            if member.startswith("__"):
                continue
            if callable(value) and not isinstance(value, list) or isinstance(value, property):
                text += KNOB_METHODS[member]
            else:
                text += f"    {member}: {KNOB_TYPES[type(value).__name__]}\n"
        text += f"{name}: {name}_knobs\n"
    return text


def public_modules(made):
    """The paths of the modules that users import, as names below the package."""
    found = {path.relative_to(PACKAGE_FOLDER).with_suffix("") for path in [*PACKAGE_FOLDER.rglob("*.py"), *made] if path.suffix in (".py", ".pyi")}
    for path in sorted(found):
        parts = path.parts[:-1] if path.name == "__init__" else path.parts
        if not any(part.startswith("_") for part in parts):
            yield parts


def triton(made):
    """The stubs of `import triton`: the same names. Each is a folder: pyright warns of a module that is only a file of a stub."""
    folder = PACKAGE_FOLDER / "_as_triton" / "triton"
    for parts in public_modules(made):
        text = f"from {'.'.join(('tilewright', *parts))} import *\n" + ("\n__version__: str\n" if not parts else "")
        own = made.get(PACKAGE_FOLDER.joinpath(*parts, "__init__.pyi"), "") or made.get(PACKAGE_FOLDER.joinpath(*parts).with_suffix(".pyi"), "")
        if "\ndef __getattr__" in own:  # `import *` leaves it out
            text = f"from typing import Any\n{text}\ndef __getattr__(name: str) -> Any: ...\n"
        yield folder.joinpath(*parts, "__init__.pyi"), HEAD + text
    yield folder / "py.typed", ""


def files():
    testing = [name for name, value in vars(tilewright.testing).items() if not name.startswith("_") and getattr(value, "__module__", "").endswith("testing")]
    package = [*tilewright.__all__, "tilewright_version", "triton_version"]
    made = {PACKAGE_FOLDER / "__init__.pyi": host_module(tilewright, package, PACKAGE),
            PACKAGE_FOLDER / "testing.pyi": host_module(tilewright.testing, testing, TESTING)}
    made |= {FOLDER / "__init__.pyi": language(), FOLDER / "_constexpr.pyi": HEAD + CONSTEXPR, PACKAGE_FOLDER / "py.typed": ""}
    for path in sorted({row[0].rpartition(".")[0] for row in rows()} - {"", "tensor", "tensor_descriptor"}):
        place = FOLDER / path.replace(".", "/")
        made[place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")] = module(path, place.is_dir())
    made |= cuda(made[FOLDER / "extra" / "cuda" / "__init__.pyi"])
    for name in ("random", "standard"):
        made[FOLDER / f"{name}.pyi"] = library()
    made[FOLDER / "core.pyi"] = HEAD + "from typing import Any\nfrom . import *\n\ndef __getattr__(name: str) -> Any: ...\n"
    made |= {PACKAGE_FOLDER / "knobs.pyi": HEAD + knobs(),
             PACKAGE_FOLDER / "backends" / "compiler.pyi": host_module(tilewright.backends.compiler, ["GPUTarget"], TARGETS)}
    for path, names in RUNTIME.items():
        made[PACKAGE_FOLDER / f"{path}.pyi"] = internal("..", names.split())
    return made | dict(triton(made))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for path, text in files().items():
        if check and (not path.exists() or path.read_text() != text):
            sys.exit(f"{path} is out of date: run tools/stubs.py")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
