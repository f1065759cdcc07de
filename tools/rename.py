#!/usr/bin/env python3
"""Renames identifiers and files all over the repository, by a table.

    tools/rename.py TABLE [--check] [PATH ...]

A line of the table is one of

    old new                       the identifier, wherever it stands: code, comments, strings, documents
    code old new [PREFIX ...]     the identifier in code alone, not in comments and strings of C++ and Python; in files whose path begins
                                  with a prefix
    text old => new               any text, as it stands
    file old new                  a path; includes and lists that name it follow
    # ...                         a comment

A new name that is already in use in a file where the old one occurs would give one name two meanings: it is reported, and a `code` line
leaves that file alone. --check reports only. Names are whole words; `-` and `.` end a word.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SUFFIXES = {".cpp", ".h", ".c", ".td", ".def", ".py", ".pyi", ".txt", ".md", ".mlir", ".ttir", ".test", ".in", ".json", ".cmake", ".yml", ".toml",
            ".html", ".sh", ".css", ".js"}
NAMES = {"Makefile", "CMakeLists.txt", "run"}
SKIPPED = ("benchmarks/results/", "docs/journal/", "tools/rename.py")
# Comments and strings of C++ and Python: what `code` lines leave alone.
PARTS = {
    "c": re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S),
    "python": re.compile(r'#[^\n]*|""".*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S),
}


class Table:
    def __init__(self, path):
        self.words, self.code, self.texts, self.files = {}, [], [], []
        for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            if line.startswith("text "):
                old, arrow, new = line[5:].partition(" => ")
                self.texts.append((old, new))
            elif line.startswith("code "):
                _, old, new, *prefixes = line.split()
                self.code.append((old, new, tuple(prefixes) or ("",)))
            elif line.startswith("file "):
                _, old, new = line.split()
                self.files.append((old, new))
            else:
                words = line.split()
                if len(words) != 2:
                    sys.exit(f"rename: {path}:{number}: not a line of a table: {line}")
                if words[0] in self.words:
                    sys.exit(f"rename: {path}:{number}: {words[0]} is renamed twice")
                self.words[words[0]] = words[1]


def tracked(paths):
    listed = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in listed if (pathlib.Path(name).suffix in SUFFIXES or pathlib.Path(name).name in NAMES) and not name.startswith(SKIPPED)]


def word(name):
    return rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])"


def in_code(text, name, new, language):
    """The text with the identifier renamed outside comments and strings."""
    pattern, pieces, last = re.compile(word(name)), [], 0
    for part in PARTS[language].finditer(text):
        pieces += [pattern.sub(new, text[last:part.start()]), part.group()]
        last = part.end()
    return "".join(pieces) + pattern.sub(new, text[last:])


def with_path(text, name, old, new):
    """The text of file `name` with a path renamed: in includes, lists of sources and documents. Includes leave out the leading src/."""
    here = pathlib.PurePath(name).parent
    for prefix in ("", "src/"):
        short, wanted = old.removeprefix(prefix), new.removeprefix(prefix)
        end = r"(?![A-Za-z0-9_-])" if "/" in short else "(?=/)"
        text = re.sub(rf"(?<![A-Za-z0-9_/-]){re.escape(short)}{end}", wanted, text)
    if pathlib.PurePath(name).name == "CMakeLists.txt" and all(pathlib.PurePath(path).is_relative_to(here) for path in (old, new)):
        text = re.sub(rf"(?<![A-Za-z0-9_/-]){re.escape(str(pathlib.PurePath(old).relative_to(here)))}(?![A-Za-z0-9_.-])",
                      str(pathlib.PurePath(new).relative_to(here)), text)
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    table = Table(options.table)
    words = re.compile(r"(?<![A-Za-z0-9_])(" + "|".join(map(re.escape, sorted(table.words, key=len, reverse=True))) + r")(?![A-Za-z0-9_])") if table.words else None
    for name in tracked(options.paths):
        path = ROOT / name
        try:
            before = text = path.read_text()
        except UnicodeDecodeError:
            continue
        used = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
        clashes = [(old, new) for old, new in table.words.items() if old in used and new in used]
        language = "python" if path.suffix in (".py", ".pyi") else "c"
        mine = [(old, new) for old, new, prefixes in table.code if old in used and name.startswith(prefixes)]
        in_use = [(old, new) for old, new in mine if new in used]
        clashes += in_use
        mine = [pair for pair in mine if pair not in in_use]
        for old, new in clashes:
            print(f"{name}: '{new}' is in use, {old} would become it")
        if options.check:
            continue
        if words:
            text = words.sub(lambda match: table.words[match.group(1)], text)
        for old, new in mine:
            text = in_code(text, old, new, language)
        for old, new in table.texts:
            text = text.replace(old, new)
        for old, new in table.files:
            text = with_path(text, name, old, new)
        if text != before:
            path.write_text(text)
    if options.check:
        return
    for old, new in table.files:
        if (ROOT / old).exists():
            (ROOT / new).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", old, new], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
