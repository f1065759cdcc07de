"""Compiles a kernel ahead of time to C: a source with the kernel's code in it and functions to load, unload and launch it, and a header.

    python -m triton.tools.compile --kernel-name add --signature "*fp32:16, *fp32, i32, 1024" --grid "n/1024, 1, 1" --out-name add add.py

writes add.HASH_0d.c and add.HASH_0d.h, with Triton's names and calls. python -m triton.tools.link combines several such variants under one
name. For a GPU (--target cuda:90:32) the source needs cuda.h and libcuda; for a CPU (cpu:avx2:1) it needs libm and a C compiler that accepts
GNU assembly. The program does not need Tilewright at run time, so no launch guard is checked: the code makes no assumptions about launches,
and uses no tensor maps.
"""

import ast
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import re
import sys
import types
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from tilewright import _alias
from tilewright._records import record
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler import ASTSource, compile
from tilewright.runtime.driver import driver
from tilewright.runtime.jit import JITFunction, KernelInterface
from tilewright.tools import c_text

desc = __doc__


# A row: the option, its abbreviation, its type, its default (required: ""), and its help.
_OPTIONS = (
    ("path", None, str, "", "the Python file with the kernel; it is run, and modules that are not installed are left out"),
    ("kernel-name", "-n", str, "", "the @triton.jit function; @triton.autotune and @triton.heuristics above it are passed over"),
    ("signature", "-s", str, "", "types, with :16 or :1 where a value is known, and constants (512, 0.5, True, None, 'text'), in order"),
    ("grid", "-g", str, "", "three C expressions of the parameters"),
    ("target", "-t", str, None, "cuda:ARCH:32 or cpu:LEVEL:1; without it this machine's"),
    ("num-warps", "-w", int, 1, "warps of a program"),
    ("num-stages", "-ns", int, 3, "as in a launch"),
    ("out-name", "-on", str, None, "what the C functions are called; without it the kernel's name"),
    ("out-path", "-o", Path, None, "the files' path without its endings; without it the name"),
)

CompileArgs = record(__name__, "CompileArgs", "What is compiled, as the command line has it.",
                     [(option.replace("-", "_"), kind if default is not None else Optional[kind], default) for option, _, kind, default, _ in _OPTIONS])


_TYPE = object()  # the result of _constant for a word that is a type


def _constant(text):
    """The constant for which a word of a signature stands: a number, a text in quotes, True, False or None. _TYPE if the word is a type."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = _TYPE
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    try:
        return float(text)  # inf and nan
    except ValueError:
        return _TYPE


def _words(text):
    """The words of a signature. A comma in quotes is not a separator."""
    words = re.findall(r"""(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,'"])+|(?<=,)(?=,|$)""", text)
    return [word.strip() for word in words]


class _Absent(types.ModuleType):
    """Stands for a module that is not installed, and for all that it would hold. A kernel that needs its content is refused."""

    __path__ = ()
    __version__ = "0.0"

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Absent(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        # a decorator of host code leaves its function as it is
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs and not isinstance(args[0], _Absent) else self

    def __mro_entries__(self, bases):
        return ()

    def __getitem__(self, key):
        return self

    def __iter__(self):
        return iter(())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    def __bool__(self):
        return False

    def __int__(self):
        return 0

    def __lt__(self, other):
        return False

    __index__, __gt__, __le__, __ge__ = __int__, __lt__, __lt__, __lt__


class _AbsentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules in `names`, and those inside of them, as _Absent."""

    def __init__(self):
        self.names = set()

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.names else None

    def create_module(self, spec):
        return _Absent(spec.name)

    def exec_module(self, module):
        pass


def _executed(path):
    """The module of a Python file. It is run again for each module that it imports in vain, which then is an _Absent one."""
    absent = _AbsentModules()
    sys.meta_path.append(absent)
    try:
        while True:
            spec = importlib.util.spec_from_file_location(path.stem, path)
            module = importlib.util.module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
                return module
            except ModuleNotFoundError as error:
                missing = (error.name or "").partition(".")[0]
                if not missing or missing in absent.names or importlib.util.find_spec(missing) is not None:
                    raise
                absent.names.add(missing)
    finally:
        sys.meta_path.remove(absent)
        for name in [name for name, module in sys.modules.items() if type(module) is _Absent]:
            del sys.modules[name]


def _kernel_of(path, name):
    """The @jit function `name` of a Python file, below other decorators. The file is executed, with its folder first in sys.path."""
    _alias.install()
    path = Path(path)
    sys.path.insert(0, str(path.parent))
    module = _executed(path)
    kernel = getattr(module, name, None)
    while kernel is not None and not isinstance(kernel, JITFunction) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    if not isinstance(kernel, JITFunction):
        kernels = [other for other, value in vars(module).items() if isinstance(value, KernelInterface)]
        raise ValueError(f"there is no @triton.jit function '{name}' in {path}" + (f"; there are {', '.join(kernels)}" if kernels else ""))
    return kernel


def _target_of(text):
    if text is None:
        return driver.active.get_current_target()
    backend, _, rest = text.partition(":")
    arch, _, warp_size = rest.partition(":")
    if backend not in c_text.TEMPLATES:
        raise ValueError(f"there is no C code for the target '{text}': the targets are cuda:ARCH:32 and cpu:LEVEL:1")
    return GPUTarget(backend, int(arch) if arch.isdigit() else arch, int(warp_size or 1))


@dataclass
class _Signature:
    """A parsed signature: {parameter: word without hint}, {number of a parameter: 1 or 16, its hint}, {name: constant}, hints of 1 included."""

    words: dict
    hints: dict
    constants: dict
    names: dict  # {parameter: its name in C}

    @staticmethod
    def of(kernel, text):
        items = _words(text)
        names = kernel.arg_names
        if len(items) > len(names):
            raise ValueError(f"the signature has {len(items)} entries, but the kernel has {len(names)} parameters")
        constants = {names[index]: value for index, item in enumerate(items) if (value := _constant(item)) is not _TYPE}
        typed = {index: item.partition(":") for index, item in enumerate(items) if names[index] not in constants}
        for index, (word, _, hint) in typed.items():
            if hint not in ("", "1", "16"):
                raise ValueError(f"the hint {hint} has no meaning: a number is 1 (:1) or a multiple of 16 (:16)")
            if not word:
                raise ValueError(f"the signature says nothing about '{names[index]}'")
        hints = {index: int(hint) for index, (_, _, hint) in typed.items() if hint}
        constants |= {names[index]: 1 for index, hint in hints.items() if hint == 1}
        words = {name: typed[index][0] if index in typed else items[index] for index, name in enumerate(names[:len(items)])}
        for param in kernel.params[len(items):]:
            if not param.has_default:
                raise ValueError(f"the signature has {len(items)} entries, and says nothing about '{param.name}', which has no default")
        return _Signature(words, hints, constants, c_text.names_in_c(names))

    def suffix(self):
        """The hints as a suffix of names. 3d: the C function's argument 3 is divisible by 16; 4c: argument 4 is the constant 1."""
        arguments = [index for index, name in enumerate(self.words) if name not in self.constants or self.hints.get(index) == 1]
        return "".join(f"{place}{'c' if self.hints[index] == 1 else 'd'}" for place, index in enumerate(arguments) if index in self.hints)

    def source(self, kernel):
        types = {name: "constexpr" if name in self.constants else word for name, word in self.words.items()}
        attributes = {(index,): [["tt.divisibility", 16]] for index, hint in self.hints.items() if hint == 16}
        return ASTSource(kernel, types, self.constants, attributes)

    def parameters(self, backend, with_ones):
        """(C type, name) of each value that a launch passes. `with_ones`: if True, numbers with the hint 1 are included."""
        ones = {list(self.words)[index] for index, hint in self.hints.items() if hint == 1}
        return [(c_text.type_of("i32" if name in ones else word, backend), self.names[name]) for name, word in self.words.items()
                if name not in self.constants or with_ones and name in ones]


def _algorithm(constants):
    """A part of a C name that differs between variants with different constants."""
    text = "x".join(map(str, constants.values()))
    if re.fullmatch(r"\w*", text, re.ASCII) and not any(isinstance(value, str) for value in constants.values()):
        return text
    return re.sub(r"\W", "_", text, flags=re.ASCII)[:32] + "_" + hashlib.sha256(repr(constants).encode()).hexdigest()[:8]


def compile_kernel(args: CompileArgs):
    """(the name of the C function that launches it, [the files])"""
    kernel = _kernel_of(args.path, args.kernel_name)
    grid = [axis.strip() for axis in args.grid.split(",")]
    if len(grid) != 3:
        raise ValueError(f"the grid has three axes, as in \"n/1024, 1, 1\", not {args.grid!r}")
    signature, target = _Signature.of(kernel, args.signature), _target_of(args.target)
    settings = f"warps{args.num_warps}xstages{args.num_stages}"
    hashed = hashlib.sha256(" ".join([*_words(args.signature), settings]).encode()).hexdigest()[:8]
    out_name, suffix = args.out_name or args.kernel_name, signature.suffix()
    name = f"{out_name}_{hashed}_{suffix}"

    options = {"num_warps": args.num_warps, "num_stages": args.num_stages}
    # The code of a CPU level comes from `standalone`, below: it may be of another machine.
    compiled = compile(signature.source(kernel), target=None if target.backend == "cpu" else target, options=options)
    code = compiled._handle.standalone(str(target.arch) if args.target and target.backend == "cpu" else "", name + "_programs")
    given = [f"{constant}={value!r}" for constant, value in signature.constants.items()]
    variant = c_text.Variant(
        name=name, backend=target.backend, code=code, grid=[c_text.renamed(axis, signature.names) for axis in grid],
        doc=", ".join(given + [f"{option}={value}" for option, value in options.items()]).replace("*/", "* /"),
        parameters=signature.parameters(target.backend, False), all_parameters=signature.parameters(target.backend, True),
        algorithm=_algorithm(signature.constants) + "_" + settings)
    files = []
    for extension, text in ((".h", c_text.header(variant)), (".c", c_text.source(variant))):
        files.append(Path(args.out_path or out_name).with_suffix(f".{hashed}_{suffix}{extension}"))
        files[-1].write_text(text)
    return name, files


def main():
    parser = ArgumentParser(prog="triton.tools.compile", description=desc, formatter_class=RawDescriptionHelpFormatter)
    for option, short, kind, default, text in _OPTIONS:
        if short:
            parser.add_argument("--" + option, short, type=kind, default=default, required=default == "", help=text)
        else:
            parser.add_argument(option, type=kind, help=text)
    compile_kernel(CompileArgs(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
