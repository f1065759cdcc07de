"""Lists the rows of diagnostics.def that nothing uses or no test provokes, and fails if there are any.

    tools/check_diagnostics.py

A row `dotShapes` is tested by tests/errors/dot_shapes.py, by a test that names it (rows whose whole text is an argument are tested so),
or by a test that holds a telling part of its text. A message without a test is one that nobody has read since it was written.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
row = re.compile(r'^DIAG\((\w+), "((?:[^"\\]|\\.)*)"', re.MULTILINE)
telling = 12  # letters that a part of a text has, to be telling
# A second line of defence: only a mistake in the compiler itself brings them about.
unprovoked = {"internalError", "unknownCallee", "invalidTiles", "notEvaluated"}


def read(folders, suffixes):
    files = (path for folder in folders for path in sorted((root / folder).rglob("*")))
    return "\n".join(path.read_text() for path in files if path.suffix in suffixes and path.name != "diagnostics.def")


def snake(name):
    return re.sub(r"(?=[A-Z])", "_", name).lower()


def is_tested(name, text, tests):
    if any((root / "tests" / "errors" / snake(name)).with_suffix(suffix).exists() for suffix in (".py", ".mlir")) or re.search(rf"\b{name}\b", tests):
        return True
    parts = (part.strip(" '\"") for part in re.split(r"\{\d\}", text.replace('\\"', '"')))
    return any(len(part) >= telling and part in tests for part in parts)


def main():
    sources = read(["src", "cli", "python"], {".cpp", ".h", ".def", ".inc"})
    tests = read(["tests"], {".py", ".test", ".cpp", ".mlir"})
    rows = row.findall((root / "src" / "support" / "diagnostics.def").read_text())
    unused = {name for name, _ in rows if not re.search(rf"\b{name}\b", sources)}
    untested = [name for name, text in rows if name not in unused | unprovoked and not is_tested(name, text, tests)]
    for name in sorted(unused):
        print(f"diagnostics.def: nothing uses {name}: delete it")
    for name in untested:
        print(f"diagnostics.def: no test provokes {name}: add tests/errors/{snake(name)}.py")
    if not unused and not untested:
        print(f"{len(rows)} diagnostics are used and tested")
    sys.exit(1 if unused or untested or not rows else 0)


if __name__ == "__main__":
    main()
