"""Compares the binary interfaces of the C headers with the committed ones, tests/abi/tilewright.abi and tests/abi/tilewright_rt.abi.

    tools/abi.py --libraries build/lib    fails if a function, struct or enum has changed, or if one of the two libraries lacks a function
    tools/abi.py --update                 writes the committed dumps, after a change that is meant

The headers are the interface. So the dump comes from a small library that only defines their functions, compiled with debug information:
abidw (Debian's abigail-tools) reads names, parameters, sizes and offsets from there. No debug build of the compiler is needed.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
INTERFACES = {"tilewright": ("error.h", "c.h", "builder.h"), "tilewright_rt": ("error.h", "runtime.h")}  # the headers of each library


def functions(headers):
    """The declarations of the functions, each on one line."""
    for header in headers:
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include/tilewright" / header).read_text(), flags=re.S)
        for declaration in re.findall(r"^TW_API ([^;{}#]*\([^;]*\));", text, re.M):
            yield " ".join(declaration.split())


def name_of(declaration):
    return re.search(r"(\w+)\(", declaration).group(1)


def stub(name, folder):
    lines = [f'#include "tilewright/{header}"' for header in INTERFACES[name]]
    for declaration in functions(INTERFACES[name]):
        lines.append(declaration + (" {}" if declaration.startswith("void tw") else " { return 0; }"))
    source, library = folder / "stub.c", folder / f"lib{name}.so"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["clang-22", "-g", "-gdwarf-4", "-shared", "-fPIC", "-w", f"-I{ROOT / 'include'}", source, "-o", library, f"-Wl,-soname,lib{name}.so.0"], check=True)
    return library


def dump(library):
    command = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash", library]
    return re.sub(r" (?:path|comp-dir-path)='[^']*'", "", subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def missing(name, library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    return [function for function in map(name_of, functions(INTERFACES[name])) if function not in exported]


def check(name, options):
    committed = ROOT / f"tests/abi/{name}.abi"
    with tempfile.TemporaryDirectory() as folder:
        library = stub(name, pathlib.Path(folder))
        if options.update:
            committed.write_text(dump(library))
        compared = subprocess.run(["abidiff", committed, library], stdout=subprocess.PIPE, text=True)
    if compared.returncode:
        print(compared.stdout)
        sys.exit(f"the binary interface differs from tests/abi/{name}.abi; if that is meant, run tools/abi.py --update")
    absent = missing(name, options.libraries / f"lib{name}.so") if options.libraries else []
    if absent:
        sys.exit(f"lib{name}.so does not export {', '.join(absent)}")
    print(f"{len(list(functions(INTERFACES[name])))} functions as in tests/abi/{name}.abi")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    for name in INTERFACES:
        check(name, options)


if __name__ == "__main__":
    main()
