"""Lists the rows of diagnostics.def that no source uses or no test triggers, and fails if there are any.

    tools/check_diagnostics.py

A row counts as tested if a test of its name shows its text: `dotShapes` by tests/errors/dot_shapes.py, whose checks hold a part of the text,
or, if no command triggers it, by one test in Python or C++ that names the row (dotShapes, dot_shapes or DotShapes) and holds a part of
the text. A message without a test may be wrong without notice.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
row = re.compile(r'^DIAG\((\w+), "((?:[^"\\]|\\.)*)"', re.MULTILINE)
telling = 12  # letters that a part of a text has, to be telling
# A second line of defence: only a mistake in the compiler itself brings them about.
unprovoked = {"internalError", "noBackend", "unknownCallee", "invalidTiles", "notEvaluated"}  # or in how LLVM was built


def read(folders, suffixes):
    files = (path for folder in folders for path in sorted((root / folder).rglob("*")))
    return "\n".join(path.read_text() for path in files if path.suffix in suffixes and path.name != "diagnostics.def")


def snake(name):
    return re.sub(r"(?=[A-Z])", "_", name).lower()


def parts_of(text, letters):
    parts = (part.strip(" '\"") for part in re.split(r"\{\d\}", text.replace('\\"', '"')))
    return [part for part in parts if len(part) >= letters]


def has_own_test(name, text):
    """Whether tests/errors has a test by the row's name that checks the row's text (of which nothing may be fixed)."""
    files = [(root / "tests" / "errors" / snake(name)).with_suffix(suffix) for suffix in (".py", ".mlir")]
    checks = [line for path in files if path.exists() for line in path.read_text().splitlines() if "CHECK" in line]
    parts = parts_of(text, 5)
    return bool(checks) and (not parts or any(part in line for part in parts for line in checks))


def single_tests():
    """The texts of the tests that are functions, in Python and C++."""
    tests = []
    for folder, suffix, between in (("python", ".py", "\n\n\n"), ("run", ".py", "\n\n\n"), ("unit", ".cpp", "\nTEST")):
        for path in sorted((root / "tests" / folder).rglob("*" + suffix)):
            tests += path.read_text().split(between)
    return tests


def is_tested(name, text, tests):
    names = re.compile(rf"\b{name}\b|{snake(name)}|{name[0].upper() + name[1:]}")
    pieces = {part[i:i + telling] for part in parts_of(text, telling) for i in range(len(part) - telling + 1)}
    return has_own_test(name, text) or any(names.search(test) and (not pieces or any(piece in test for piece in pieces)) for test in tests)


def main():
    sources = read(["src", "cli", "python"], {".cpp", ".h", ".def", ".inc"})
    tests = single_tests()
    rows = row.findall((root / "src" / "support" / "diagnostics.def").read_text())
    unused = {name for name, _ in rows if not re.search(rf"\b{name}\b", sources)}
    untested = [name for name, text in rows if name not in unused | unprovoked and not is_tested(name, text, tests)]
    for name in sorted(unused):
        print(f"diagnostics.def: nothing uses {name}: delete it")
    for name in untested:
        print(f"diagnostics.def: no test of its name shows {name}: add tests/errors/{snake(name)}.py")
    if not unused and not untested:
        print(f"{len(rows)} diagnostics are used and tested")
    sys.exit(1 if unused or untested or not rows else 0)


if __name__ == "__main__":
    main()
