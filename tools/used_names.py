#!/usr/bin/env python3
"""Which names of Triton's Python package libraries use, and which of them the installed `triton` lacks.

    python -m tilewright tools/used_names.py PATH...      folders, .py files, wheels and source archives; for Tilewright
    python tools/used_names.py PATH...                    the same for the Triton that this Python has
    ... --all                                             lists the names that are there, too

The files are read, not run. A line of the result: the name, the number of files that use it, and one of them. The exit status is 1 if any is missing.
Names that a file imports within `try` are marked "optional": it works without them.
"""

import argparse
import ast
import collections
import importlib
import sys
import tarfile
import types
import warnings
import zipfile
from pathlib import Path


def sources(path):
    """(name, text) of each Python file of a folder or an archive that mentions Triton."""
    def texts():
        if path.is_dir():
            yield from ((str(file), file.read_bytes()) for file in sorted(path.rglob("*.py")) if file.is_file())
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield from ((name, archive.read(name)) for name in archive.namelist() if name.endswith(".py"))
        elif tarfile.is_tarfile(path):
            with tarfile.open(path) as archive:
                yield from ((member.name, archive.extractfile(member).read()) for member in archive if member.isfile() and member.name.endswith(".py"))
        else:
            yield str(path), path.read_bytes()

    for name, text in texts():
        if b"triton" in text:
            yield name, text


class Uses(ast.NodeVisitor):
    """The dotted names of Triton's that a file uses: {name: whether each use is an import within `try`}."""

    def __init__(self):
        self.aliases, self.names, self.tries = {}, {}, 0

    def add(self, name, optional=False):
        if name == "triton" or name.startswith("triton."):
            self.names[name] = self.names.get(name, True) and optional

    def visit_Try(self, node):
        self.tries += 1
        for item in node.body:
            self.visit(item)
        self.tries -= 1
        for item in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(item)

    def visit_Import(self, node):
        for item in node.names:
            self.add(item.name, self.tries > 0)
            if item.name.partition(".")[0] == "triton":
                self.aliases[item.asname or "triton"] = item.name if item.asname else "triton"

    def visit_ImportFrom(self, node):
        if node.level or node.module is None or node.module.partition(".")[0] != "triton":
            return
        for item in node.names:
            if item.name == "*":
                self.add(node.module, self.tries > 0)
                continue
            self.add(f"{node.module}.{item.name}", self.tries > 0)
            self.aliases[item.asname or item.name] = f"{node.module}.{item.name}"

    def visit_Attribute(self, node):
        parts, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.aliases and isinstance(node.ctx, ast.Load):
            self.add(".".join([self.aliases[inner.id], *reversed(parts)]))
        self.visit(inner)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "import_module" and node.args and isinstance(node.args[0], ast.Constant):
            self.add(str(node.args[0].value), self.tries > 0)
        self.generic_visit(node)


def uses_of(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # templates
        return {}
    finder = Uses()
    # Imports at any depth come first: a function may use what a later line of its module imports.
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            finder.visit(node)
    finder.names.clear()
    finder.visit(tree)
    return finder.names


def missing_part(name):
    """The part of a dotted name that is not there, or None. A part may be a module and, in its package, an object of the same name: both count. Functions
    and instances are not looked into, but for the active driver."""
    parts = name.split(".")
    found = [importlib.import_module(parts[0])]
    for index in range(1, len(parts)):
        path = ".".join(parts[:index + 1])
        following = []
        try:
            following.append(importlib.import_module(path))
        except ImportError:
            pass
        for owner in found:
            try:
                following.append(getattr(owner, parts[index]))
            except AttributeError:
                continue
            except Exception:  # a driver that needs a GPU
                return None
        if not following:
            return path
        found = following
        if not any(isinstance(owner, (type, types.ModuleType)) or hasattr(type(owner), "active") for owner in found):
            return None
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--all", action="store_true", help="list the names that are there, too")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    users, optional = collections.defaultdict(list), {}
    for path in given.paths:
        for file, text in sources(path):
            for name, is_optional in uses_of(text).items():
                users[name].append(file)
                optional[name] = optional.get(name, True) and is_optional
    missing = {name: part for name in users if (part := missing_part(name))}
    for name in sorted(users if given.all else missing):
        state = "there" if name not in missing else "optional" if optional[name] else "missing"
        print(f"{state:9} {name}  {len(users[name])}  {users[name][0]}")
    print(f"{len(users)} names, {len(missing)} of them not here")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
