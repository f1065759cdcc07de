"""Writes src/evaluate/python_builtins.inc: the names that CPython defines in every module, of all releases that we support.

    tools/python_builtins.py PYTHON...     PYTHON: an interpreter of each release, the newest one too
    tools/python_builtins.py --check       fails unless the file has all names of the interpreter that runs this
"""

import builtins
import pathlib
import re
import subprocess
import sys

FILE = pathlib.Path(__file__).resolve().parents[1] / "src" / "evaluate" / "python_builtins.inc"
NAMES = "import builtins; print(*dir(builtins), *globals())"
INTERACTIVE = {"copyright", "credits", "exit", "license", "quit", "_", "builtins"}  # of the module site and of the line above; no module has them


def main():
    if sys.argv[1:] == ["--check"]:
        missing = set(dir(builtins)) - INTERACTIVE - set(re.findall(r'"(\w+)"', FILE.read_text()))
        sys.exit(f"{FILE} lacks {', '.join(sorted(missing))}: run tools/python_builtins.py with this Python" if missing else 0)
    if not sys.argv[1:]:
        sys.exit(__doc__)
    names = {"__file__"}  # a script has it, the command below has not
    for python in sys.argv[1:]:
        names.update(subprocess.run([python, "-I", "-c", NAMES], check=True, stdout=subprocess.PIPE, text=True).stdout.split())
    lines = "".join(f'    "{name}",\n' for name in sorted(names - INTERACTIVE))
    FILE.write_text("// Written by tools/python_builtins.py from CPython: the names that every module has.\n" + lines)


if __name__ == "__main__":
    main()
