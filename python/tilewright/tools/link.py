"""Combines variants of a kernel that tools.compile wrote under one name in C.

    python -m triton.tools.link add.*.h -o add

reads the headers and writes add.h and add.c. Variants that differ in hints are chosen among by each launch's arguments, the most
special one first; those that differ in constants, warps or stages are algorithms, by a number:

    TT_ResultTy add(TT_StreamTy stream, ..., int algo_id);     one of add_get_num_algos() algorithms
    TT_ResultTy add_default(TT_StreamTy stream, ...);          the first of them
    void load_add(void);  void unload_add(void);

A launch that no variant fits returns TT_ERROR_INVALID_VALUE.
"""

import re
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Optional, Sequence

from tilewright._records import record
from tilewright.tools import c_text

desc = __doc__

_VARIANT = re.compile(r"//\s*tt-linker:\s*(\w+):(.*):(.+)")
_BACKEND = re.compile(r"//\s*tt-linker-backend:\s*(\w+)")
_HINTS = {"c": 1, "d": 16}


_PER_ARGUMENT = {"arg_names": str, "arg_ctypes": str, "sizes": Optional[int]}  # fields of a variant that have one entry for each argument


class LinkerError(Exception):
    """Headers that do not fit together."""


class _Variant:
    """The facts about a variant that the linker needs."""

    @property
    def function(self):
        return f"{self.orig_kernel_name}_{self.sig_hash}_{self.suffix}"

    def parameters(self):
        return list(zip(self.arg_ctypes, self.arg_names))

    def passed(self):
        """(C type, name) of the variant's own parameters, without those that are known to be 1."""
        return [parameter for parameter, size in zip(self.parameters(), self.sizes) if size != 1]

    def condition(self):
        tests = {1: "{} == 1", 16: "(uintptr_t){} % 16 == 0"}
        return " && ".join(tests[size].format(name) for name, size in zip(self.arg_names, self.sizes) if size) or "1"


KernelLinkerMeta = record(
    __name__, "KernelLinkerMeta", "A variant, as its header tells it. `sizes`: the hint of each argument, or None; `num_specs`: how many have one.",
    [(name, str) if name not in _PER_ARGUMENT else (name, Sequence[_PER_ARGUMENT[name]])
     for name in ("orig_kernel_name", *_PER_ARGUMENT, "sig_hash", "triton_suffix", "suffix")] + [("num_specs", int)], base=[_Variant])


class HeaderParser:
    """Parses headers: `kernels` has the variants of each algorithm."""

    def __init__(self):
        self.kernels, self.backend_name = {}, None

    def extract_linker_meta(self, header):
        for line in header.splitlines():
            if variant := _VARIANT.match(line):
                self._add(*variant.groups())
            elif backend := _BACKEND.match(line):
                if self.backend_name not in (None, backend[1]):
                    raise LinkerError(f"one header is for {self.backend_name}, another for {backend[1]}: link them separately")
                self.backend_name = backend[1]

    def _add(self, function, signature, algorithm):
        named = re.fullmatch(r"(\w+)_([0-9a-f]+)_(\w*)", function)
        if not named:
            raise LinkerError(f"'{function}' is not a name that tools.compile writes")
        parameters = re.findall(r"(\w+) (\w+)", signature)
        sizes = _sizes(named[3], len(parameters))
        meta = KernelLinkerMeta(named[1], [name for _, name in parameters], [type for type, _ in parameters], sizes, named[2], named[3], named[3],
                                sum(size is not None for size in sizes))
        others = self.kernels.setdefault(f"{named[1]}_{algorithm}", [])
        for other in self.kernels.values():
            if other and other[0].arg_ctypes != meta.arg_ctypes:
                raise LinkerError(f"{function} takes ({', '.join(meta.arg_ctypes)}), but {other[0].function} takes ({', '.join(other[0].arg_ctypes)})")
        others.append(meta)


def _sizes(suffix, count):
    """The hint for each argument that a suffix such as 0d3c gives, as a list."""
    sizes = [None] * count
    for index, kind in re.findall(r"(\d+)([cd])", suffix):
        if int(index) >= count:
            raise LinkerError(f"the suffix '{suffix}' names argument {index}, but there are {count}")
        sizes[int(index)] = _HINTS[kind]
    return sizes


def _dispatcher(algorithm, variants):
    """C text: the function that chooses among variants by their hints, and those that load and unload them all."""
    ordered = sorted(variants, key=lambda variant: -variant.num_specs)
    lines = []
    for variant in ordered:
        lines += [f"TT_ResultTy {variant.function}(TT_StreamTy tt_stream{c_text.declared(variant.passed())});",
                  f"void load_{variant.function}(void);", f"void unload_{variant.function}(void);"]
    lines += ["", f"TT_ResultTy {algorithm}(TT_StreamTy tt_stream{c_text.declared(variants[0].parameters())}) {{"]
    for variant in ordered:
        passed = "".join(f", {name}" for _, name in variant.passed())
        lines += [f"  if ({variant.condition()})", f"    return {variant.function}(tt_stream{passed});"]
    lines += ["  return TT_ERROR_INVALID_VALUE;", "}"]
    for what in ("load", "unload"):
        lines += ["", f"void {what}_{algorithm}(void) {{", *(f"  {what}_{variant.function}();" for variant in ordered), "}"]
    return "\n".join(lines) + "\n"


def _faces(name, declaration):
    """C text: the declarations of the functions with the kernel's own name."""
    return [f"TT_ResultTy {name}_default(TT_StreamTy tt_stream{declaration})", f"TT_ResultTy {name}(TT_StreamTy tt_stream{declaration}, int algo_id)",
            f"int {name}_get_num_algos(void)", f"void load_{name}(void)", f"void unload_{name}(void)"]


def header_text(kernels, backend):
    first = next(iter(kernels.values()))[0]
    declaration, lines = c_text.declared(first.parameters()), []
    for algorithm in kernels:
        lines += [f"TT_ResultTy {algorithm}(TT_StreamTy tt_stream{declaration});", f"void load_{algorithm}(void);", f"void unload_{algorithm}(void);"]
    return c_text.prelude(backend) + "\n".join(lines + [f"{face};" for face in _faces(first.orig_kernel_name, declaration)]) + "\n"


def source_text(kernels, backend):
    first = next(iter(kernels.values()))[0]
    name, declaration = first.orig_kernel_name, c_text.declared(first.parameters())
    passed = "".join(f", {argument}" for argument in first.arg_names)
    bodies = [f"  return {name}(tt_stream{passed}, 0);",
              f"  if (algo_id < 0 || algo_id >= {len(kernels)}) return TT_ERROR_INVALID_VALUE;\n  return tt_algorithms[algo_id](tt_stream{passed});",
              f"  return {len(kernels)};", *("\n".join(f"  {what}_{algorithm}();" for algorithm in kernels) for what in ("load", "unload"))]
    table = f"static TT_ResultTy (*const tt_algorithms[])(TT_StreamTy tt_stream{declaration}) = {{{', '.join(kernels)}}};\n"
    faces = _faces(name, declaration)
    parts = [_dispatcher(algorithm, variants) for algorithm, variants in kernels.items()]
    parts += ["".join(f"{face};\n" for face in faces), table] + [f"{face} {{\n{body}\n}}\n" for face, body in zip(faces, bodies)]
    return c_text.prelude(backend) + "\n".join(parts)


def main():
    parser = ArgumentParser(prog="triton.tools.link", description=desc, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="+", help="headers that triton.tools.compile has written, of one kernel's variants")
    parser.add_argument("--out", "-o", type=Path, required=True, help="the files' path without its endings")
    parser.add_argument("--prefix", default="", help="of no effect, as upstream's")
    args = parser.parse_args()
    headers = HeaderParser()
    for path in args.headers:
        headers.extract_linker_meta(Path(path).read_text())
    if not headers.kernels:
        raise LinkerError("the headers name no kernel: they are not of triton.tools.compile")
    args.out.with_suffix(".h").write_text(header_text(headers.kernels, headers.backend_name))
    args.out.with_suffix(".c").write_text(source_text(headers.kernels, headers.backend_name))


if __name__ == "__main__":
    main()
