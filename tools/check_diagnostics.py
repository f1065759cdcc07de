"""Lists the rows of diagnostics.def that no source uses or no test triggers, and the simulator's messages that no test shows. Fails if
there are any.

    tools/check_diagnostics.py

A row counts as tested if a test of its name shows its text: `dotShapes` by tests/errors/dot_shapes.py, whose checks hold a part of the text,
or, if no command triggers it, by one test in Python or C++ that names the row (dotShapes, dot_shapes or DotShapes) and holds a part of
the text. A message without a test may be wrong without notice.

The GPU simulator reports broken rules of the machine in messages of its own: in calls of fail, wrong and refuse, in failures and in texts
that a function returns. Each needs a test that holds 14 letters of its text which no other message has.
"""

import collections
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


message = re.compile(r'\b(?:fail|wrong|refuse|failTouched|waitUntil|outside)\(|SimulationError\{|Failure\{|\breturn (?=")|\bproblem = (?=")|\bwhat = (?=")')
literal = re.compile(r'"((?:[^"\\]|\\.)*)"')
shown = 14  # letters of a message that a test has to hold


def without_breaks(text):
    """Joins literals that continue on the next line."""
    return re.sub(r'"\s*\n\s*"', "", text)


def end_of(text, start):
    """The end of the expression at `start`: the bracket that closes it, or a semicolon."""
    depth, quoted, at = 0, False, start
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter in "({[") - (letter in ")}]")
            if letter == ";" and depth <= 0 or letter in ")}]" and depth <= 0 and text[start] in "({":
                return at
        at += 1
    return at


def simulator_messages():
    """The texts of each message of the simulator and of the descriptors that it reads, with its place, without sections of the ISA."""
    machine = root / "src" / "gpu" / "machine"
    for path in sorted(machine.glob("simulate*.cpp")) + [machine / "descriptors.cpp"]:
        text = without_breaks(re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.MULTILINE))
        for match in message.finditer(text):
            start = match.end() - (text[match.end() - 1] in "({")
            texts = [re.sub(r"\(?PTX ISA [^)]*\)?", "", each).strip(" ';,():") for each in literal.findall(text[start:end_of(text, start)])]
            telling_texts = tuple(each for each in texts if len(each) >= shown or " " in each and len(each) >= 8)
            if telling_texts:
                yield f"{path.name}: {telling_texts[0]}", telling_texts


def windows(texts):
    return {text[at:at + shown] for text in texts for at in range(max(1, len(text) - shown + 1))}


def unshown_messages(tests):
    messages = list(simulator_messages())
    uses = collections.Counter(window for texts in {texts for _, texts in messages} for window in windows(texts))
    for place, texts in messages:
        own = {window for window in windows(texts) if uses[window] == 1} or windows(texts)
        if not any(window in tests for window in own):
            yield place


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
    shown_texts = without_breaks(read(["tests/unit", "tests/python", "tests/gpu", "tests/cli", "tests/run"], {".cpp", ".h", ".py", ".test", ".mlir"}))
    unshown = list(unshown_messages(shown_texts))
    for place in unshown:
        print(f"src/gpu/machine/{place}: no test shows this message of the simulator")
    if not unused and not untested and not unshown:
        print(f"{len(rows)} diagnostics are used and tested, and {len(list(simulator_messages()))} messages of the simulator")
    sys.exit(1 if unused or untested or unshown or not rows else 0)


if __name__ == "__main__":
    main()
