#!/usr/bin/env python3
"""docs/api.md: every public name of Triton's Python package, and whether it is here.

    tools/api_table.py --names SOURCE...          writes docs/triton_names.txt from checkouts of Triton (their folder python) or unpacked wheels, all
                                                  their names together: read without running anything
    tools/api_table.py                            writes docs/api.md from that list and the package as it is (PYTHONPATH=build/python)
    tools/api_table.py --check                    prints the differences from docs/api.md; the exit status is 1 if there is one

An existing name is "same", unless a row of NOTES states a difference. An absent name needs a row with the reason.
"""

import argparse
import ast
import fnmatch
import importlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES, TABLE = ROOT / "docs/triton_names.txt", ROOT / "docs/api.md"

MODULES = """
triton triton._utils triton.backends triton.backends.compiler triton.backends.driver triton.backends.nvidia.compiler triton.backends.nvidia.driver
triton.compiler triton.compiler.code_generator
triton.compiler.compiler triton.compiler.errors triton.errors triton.experimental.gluon triton.knobs triton.language triton.language.core
triton.language.extra.cuda triton.language.extra.libdevice triton.language.math triton.language.random triton.language.standard
triton.language.target_info triton.runtime triton.runtime._allocation triton.runtime._async_compile triton.runtime.autotuner
triton.runtime.build triton.runtime.cache triton.runtime.driver triton.runtime.errors triton.runtime.interpreter triton.runtime.jit
triton.testing triton.tools triton.tools.compile triton.tools.disasm triton.tools.link triton.tools.mxfp triton.tools.ragged_tma
triton.tools.tensor_descriptor triton._filecheck triton._internal_testing
triton.profiler triton.profiler.data triton.profiler.hooks.hook triton.profiler.profile triton.profiler.scope triton.profiler.state
triton.profiler.viewer
""".split()

# (pattern of names, state, reason): the first match applies.
NOTES = [row.split(None, 2) for row in (ROOT / "docs/api_notes.txt").read_text().splitlines() if row and not row.startswith("#")]


def module_file(source, module):
    """The file of a module in a checkout. The profiler has a separate folder."""
    parts = module.split(".")
    checkout = source.parent / "third_party/proton/proton"  # a wheel has it where it is imported from
    is_separate = parts[1:2] == ["profiler"] and checkout.exists()
    base, rest = (checkout, parts[2:]) if is_separate else (source / "triton", parts[1:])
    for path in (base.joinpath(*rest) / "__init__.py", base.joinpath(*rest).with_suffix(".py") if rest else None):
        if path is not None and path.exists():
            return path
    path = source.parent / "third_party/nvidia/language" / "/".join(parts[3:])  # language.extra.cuda
    return path / "__init__.py" if (path / "__init__.py").exists() else None


def targets(node):
    """The names that a statement binds."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [node.target.id] if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else []


def is_internal(path, node):
    """Classes whose methods are internal."""
    return path.stem in ("interpreter", "code_generator") or any(ast.unparse(base) == "ast.NodeVisitor" for base in node.bases)


def names_of(path):
    """The public names of a module: its __all__, or what it defines; of classes of settings also the settings."""
    body = ast.parse(path.read_text()).body
    for node in body:
        if isinstance(node, ast.Assign) and targets(node) == ["__all__"] and isinstance(node.value, (ast.List, ast.Tuple)):
            return sorted(item.value for item in node.value.elts if isinstance(item, ast.Constant))
    names = []
    for node in body:
        names += [name for name in targets(node) if not name.startswith("_") and len(name) > 1]
        if isinstance(node, ast.ClassDef) and node.name.endswith("_knobs") and node.name != "base_knobs":
            group = node.name.removesuffix("_knobs")
            names += [f"{group}.{name}" for item in node.body for name in targets(item) if not name.startswith("_")]
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not is_internal(path, node):
            names += [f"{node.name}.{name}" for item in node.body if isinstance(item, ast.FunctionDef) for name in targets(item)
                      if not name.startswith("_")]
    if not names:  # a package that only imports
        names = [item.asname or item.name for node in body if isinstance(node, ast.ImportFrom) for item in node.names]
    return sorted(name for name in set(names) if not name.startswith("_"))


def write_names(sources):
    lines = ["# The public names of Triton's Python package by module: written by tools/api_table.py --names."]
    for module in MODULES:
        paths = [path for source in sources if (path := module_file(source, module)) is not None]
        if not paths:
            raise SystemExit(f"{module} is in none of {', '.join(map(str, sources))}")
        lines.append(f"{module}: {' '.join(sorted({name for path in paths for name in names_of(path)}))}")
    NAMES.write_text("\n".join(lines) + "\n")


def is_there(module, name):
    """Whether our package has the name."""
    try:
        found = importlib.import_module(module.replace("triton", "tilewright", 1))
    except ImportError:
        return False
    for part in name.split("."):
        if part in vars(type(found)):  # a setting, which may not be readable here
            return True
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def rows():
    for line in NAMES.read_text().splitlines():
        if line.startswith("#"):
            continue
        module, _, names = line.partition(":")
        for name in names.split():
            note = next(((state, reason) for pattern, state, reason in NOTES if fnmatch.fnmatchcase(f"{module}.{name}", pattern)), None)
            there = is_there(module, name) or (note is not None and note[0] == "here")
            state = "absent" if not there else note[0] if note and note[0] == "differs" else "same"
            reason = note[1] if note and note[0] == state else ""
            yield module, name, state, reason


def table():
    """(text of docs/api.md, names without a reason)."""
    found, problems = {}, []
    for module, name, state, reason in rows():
        found.setdefault(module, []).append((name, state, reason))
        if state == "absent" and not reason:
            problems.append(f"{module}.{name} is absent, and docs/api_notes.txt has no reason")
    counts = {state: sum(row[1] == state for group in found.values() for row in group) for state in ("same", "differs", "absent")}
    lines = ["# The Python interface, compared with Triton's", "",
             "Every public name of Triton's Python package, with its state:", "",
             "- *same*: it exists and means the same;",
             "- *differs*: it exists, and the table states the difference;",
             "- *absent*: it does not exist, and the table states the reason.", "",
             "`tools/api_table.py` writes this page from `docs/triton_names.txt`, Triton's names by module, and `docs/api_notes.txt`. A test compares it with",
             "the package.", "",
             f"{counts['same']} names are the same, {counts['differs']} differ, {counts['absent']} are absent."]
    for module, group in found.items():
        same = [f"`{name}`" for name, state, _ in group if state == "same"]
        lines += ["", f"## {module}", ""]
        if same:
            lines.append(f"Same: {', '.join(same)}.")
        by_reason = {}
        for name, state, reason in group:
            if state != "same":
                by_reason.setdefault((state, reason), []).append(f"`{name}`")
        if by_reason:
            lines += ["", "| name | state | difference or reason |", "| --- | --- | --- |"]
            lines += [f"| {', '.join(names)} | {state} | {reason} |" for (state, reason), names in by_reason.items()]
    return "\n".join(lines) + "\n", problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=Path, nargs="+")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.names:
        write_names(given.names)
        return 0
    text, problems = table()
    if not given.check:
        TABLE.write_text(text)
    elif text != TABLE.read_text():
        problems.append("docs/api.md is out of date: run tools/api_table.py")
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
