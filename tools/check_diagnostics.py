"""Lists the rows of diagnostics.def that nothing uses or no test provokes, and fails if there are any.

    tools/check_diagnostics.py

A row `dotShapes` is tested by tests/errors/dot_shapes.py if a check of that file holds a part of its text, or by another test whose code
holds a telling part of it or names the row (rows whose whole text is an argument are tested so). Comments test nothing. A message without
a test is one that nobody has read since it was written.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
row = re.compile(r'^DIAG\((\w+), "((?:[^"\\]|\\.)*)"', re.MULTILINE)
telling = 12  # letters that a part of a text has, to be telling
# A second line of defence: only a mistake in the compiler itself brings them about.
unprovoked = {"internalError", "noCode", "unknownCallee", "invalidTiles", "notEvaluated"}


def read(folders, suffixes):
    files = (path for folder in folders for path in sorted((root / folder).rglob("*")))
    return "\n".join(path.read_text() for path in files if path.suffix in suffixes and path.name != "diagnostics.def")


def snake(name):
    return re.sub(r"(?=[A-Z])", "_", name).lower()


def parts_of(text, letters):
    parts = (part.strip(" '\"") for part in re.split(r"\{\d\}", text.replace('\\"', '"')))
    return [part for part in parts if len(part) >= letters]


def without_comments(text):
    return "\n".join(line for line in text.splitlines() if not re.match(r"\s*(#|//)", line) or "CHECK" in line)


def has_own_test(name, text):
    """Whether tests/errors has a test by the row's name that checks the row's text (of which nothing may be fixed)."""
    files = [(root / "tests" / "errors" / snake(name)).with_suffix(suffix) for suffix in (".py", ".mlir")]
    checks = [line for path in files if path.exists() for line in path.read_text().splitlines() if "CHECK" in line]
    parts = parts_of(text, 5)
    return bool(checks) and (not parts or any(part in line for part in parts for line in checks))


def is_tested(name, text, tests):
    return has_own_test(name, text) or bool(re.search(rf"\b{name}\b", tests)) or any(part in tests for part in parts_of(text, telling))


def main():
    sources = read(["src", "cli", "python"], {".cpp", ".h", ".def", ".inc"})
    tests = without_comments(read(["tests"], {".py", ".test", ".cpp", ".mlir"}))
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
