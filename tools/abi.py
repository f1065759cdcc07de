"""Compares the binary interface of the C headers with the committed one, tests/abi/tilewright.abi.

    tools/abi.py --library build/lib/libtilewright.so    fails if a function, struct or enum has changed, or if the library lacks a function
    tools/abi.py --update                                writes the committed dump, after a change that is meant

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
HEADERS = ("error.h", "c.h")
DUMP = ROOT / "tests/abi/tilewright.abi"


def functions():
    """The declarations of the functions, each on one line."""
    for header in HEADERS:
        text = re.sub(r"/\*.*?\*/", "", (ROOT / "include/tilewright" / header).read_text(), flags=re.S)
        for declaration in re.findall(r"^TW_API ([^;{}#]*\([^;]*\));", text, re.M):
            yield " ".join(declaration.split())


def name_of(declaration):
    return re.search(r"(\w+)\(", declaration).group(1)


def stub(folder):
    lines = [f'#include "tilewright/{header}"' for header in HEADERS]
    for declaration in functions():
        lines.append(declaration + (" {}" if declaration.startswith("void tw") else " { return 0; }"))
    source, library = folder / "stub.c", folder / "libtilewright.so"
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["clang-22", "-g", "-gdwarf-4", "-shared", "-fPIC", "-w", f"-I{ROOT / 'include'}", source, "-o", library, "-Wl,-soname,libtilewright.so.0"], check=True)
    return library


def dump(library):
    command = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash", library]
    return re.sub(r" (?:path|comp-dir-path)='[^']*'", "", subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def missing(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, stdout=subprocess.PIPE, text=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    return [name for name in map(name_of, functions()) if name not in exported]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = stub(pathlib.Path(folder))
        if options.update:
            DUMP.write_text(dump(library))
        compared = subprocess.run(["abidiff", DUMP, library], stdout=subprocess.PIPE, text=True)
    if compared.returncode:
        print(compared.stdout)
        sys.exit("the binary interface differs from tests/abi/tilewright.abi; if that is meant, run tools/abi.py --update")
    absent = missing(options.library) if options.library else []
    if absent:
        sys.exit(f"{options.library} does not export {', '.join(absent)}")
    print(f"{len(list(functions()))} functions as in tests/abi/tilewright.abi")


if __name__ == "__main__":
    main()
