"""Compiles a kernel ahead of time to C: a source with the kernel's code in it and functions to load, unload and launch it, and a header.

    python -m triton.tools.compile --kernel-name add --signature "*fp32:16, *fp32, i32, 1024" --grid "n/1024, 1, 1" --out-name add add.py

makes add.HASH_0d.c and add.HASH_0d.h, with upstream's names and upstream's calls; python -m triton.tools.link puts several such variants behind
one name. For a GPU (--target cuda:90:32) the source needs cuda.h and libcuda, for a processor (cpu:avx2:1) a C compiler that takes GNU assembly,
and libm. Nothing of Tilewright is needed where it runs. So nobody checks the launches there: the code takes nothing for granted about them,
and uses no tensor maps.
"""

import hashlib
import importlib.util
import re
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from tilewright import _alias
from tilewright._records import record
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler import ASTSource, compile
from tilewright.runtime.driver import driver
from tilewright.tools import c_text

desc = __doc__


# A row: the option, its short form, its type, its default (required: ""), and its help.
_OPTIONS = (
    ("path", None, str, "", "the Python file with the kernel; it is run"),
    ("kernel-name", "-n", str, "", "the @triton.jit function"),
    ("signature", "-s", str, "", "types, with :16 or :1 where a value is known, and constants, in order"),
    ("grid", "-g", str, "", "three C expressions of the parameters"),
    ("target", "-t", str, None, "cuda:ARCH:32 or cpu:LEVEL:1; without it this machine's"),
    ("num-warps", "-w", int, 1, "warps of a program"),
    ("num-stages", "-ns", int, 3, "as in a launch"),
    ("out-name", "-on", str, None, "what the C functions are called; without it the kernel's name"),
    ("out-path", "-o", Path, None, "the files' path without its endings; without it the name"),
)

CompileArgs = record(__name__, "CompileArgs", "What is compiled, as the command line has it.",
                     [(option.replace("-", "_"), kind if default is not None else Optional[kind], default) for option, _, kind, default, _ in _OPTIONS])


def _number(text):
    """The constant for which a word of a signature stands; None if the word is a type."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return None


def _kernel_of(path, name):
    """The @jit function `name` of a Python file. The file is executed, with its folder in front of sys.path."""
    _alias.install()
    path = Path(path)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


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

    @staticmethod
    def of(kernel, text):
        items = [item.strip() for item in text.split(",")]
        names = kernel.arg_names
        if len(items) > len(names):
            raise ValueError(f"the signature has {len(items)} entries, but the kernel has {len(names)} parameters")
        hints = {index: int(item.split(":")[1]) for index, item in enumerate(items) if ":" in item}
        for hint in hints.values():
            if hint not in (1, 16):
                raise ValueError(f"the hint {hint} has no meaning: a number is 1 (:1) or a multiple of 16 (:16)")
        constants = {names[index]: _number(item) for index, item in enumerate(items) if _number(item) is not None}
        constants |= {names[index]: 1 for index, hint in hints.items() if hint == 1}
        return _Signature({names[index]: item.split(":")[0] for index, item in enumerate(items)}, hints, constants)

    def suffix(self):
        """The hints as a suffix of names. 3d: the C function's argument 3 is divisible by 16; 4c: argument 4 is the constant 1."""
        arguments = [index for index, name in enumerate(self.words) if name not in self.constants or self.hints.get(index) == 1]
        return "".join(f"{place}{'c' if self.hints[index] == 1 else 'd'}" for place, index in enumerate(arguments) if index in self.hints)

    def source(self, kernel):
        types = {name: "constexpr" if name in self.constants else word for name, word in self.words.items()}
        attributes = {(index,): [["tt.divisibility", 16]] for index, hint in self.hints.items() if hint == 16}
        return ASTSource(kernel, types, self.constants, attributes)

    def parameters(self, backend, with_ones):
        """(C type, name) of each value that a launch passes. `with_ones`: whether numbers are included whose hint is 1."""
        ones = {list(self.words)[index] for index, hint in self.hints.items() if hint == 1}
        return [(c_text.type_of("i32" if name in ones else word, backend), name) for name, word in self.words.items()
                if name not in self.constants or with_ones and name in ones]


def compile_kernel(args: CompileArgs):
    """(the name of the C function that launches it, [the files])"""
    kernel = _kernel_of(args.path, args.kernel_name)
    grid = [axis.strip() for axis in args.grid.split(",")]
    if len(grid) != 3:
        raise ValueError(f"the grid has three axes, as in \"n/1024, 1, 1\", not {args.grid!r}")
    signature, target = _Signature.of(kernel, args.signature), _target_of(args.target)
    settings = f"warps{args.num_warps}xstages{args.num_stages}"
    hashed = hashlib.sha256(" ".join([item.strip() for item in args.signature.split(",")] + [settings]).encode()).hexdigest()[:8]
    out_name, suffix = args.out_name or args.kernel_name, signature.suffix()
    name = f"{out_name}_{hashed}_{suffix}"

    options = {"num_warps": args.num_warps, "num_stages": args.num_stages}
    compiled = compile(signature.source(kernel), target=target, options=options)
    code = compiled._handle.standalone(str(target.arch) if args.target and target.backend == "cpu" else "")
    given = [f"{constant}={value}" for constant, value in signature.constants.items()]
    variant = c_text.Variant(
        name=name, backend=target.backend, code=code, grid=grid,
        doc=", ".join(given + [f"{option}={value}" for option, value in options.items()]),
        parameters=signature.parameters(target.backend, False), all_parameters=signature.parameters(target.backend, True),
        algorithm=re.sub(r"\W", "_", "x".join(str(value) for value in signature.constants.values())) + "_" + settings)
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
