"""Compares the constants of the GPU's cost model with the tables of docs/heuristics.md, and fails if they differ.

Each constant of src/gpu/cost_model/thresholds.h has one row in the table of tuned numbers, and each one of src/support/gpu_hardware.h a row in
the table of hardware facts, with its value. A row without a constant, a second definition and a cell without text where the measurement belongs are
errors, too.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
folder, page = root / "src", root / "docs/heuristics.md"
CONSTANT = re.compile(r"^constexpr int64_t (\w+) = (\d+);(?: +///< .*)?$", re.M)
ANY_CONSTANT = re.compile(r"^\s*(?:inline |static )*constexpr \w+ (\w+) =", re.M)
ROW = re.compile(r"^\| `(\w+)` \| (\d+) \|(.*)\|$", re.M)
TABLES = {"gpu/cost_model/thresholds.h": ("## Tuned numbers", 5), "support/gpu_hardware.h": ("## Hardware facts", 1)}  # and the cells after the value


def rows_of(text, heading):
    section = text.partition(heading + "\n")[2].partition("\n## ")[0]
    return [(name, int(value), [cell.strip() for cell in rest.split("|")]) for name, value, rest in ROW.findall(section)]


def problems():
    text = page.read_text()
    for header, (heading, cells) in TABLES.items():
        code, rows = (folder / header).read_text(), rows_of(text, heading)
        constants = {name: int(value) for name, value in CONSTANT.findall(code)}
        yield from (f"{header}: {name} is not one number on a line of its own" for name in ANY_CONSTANT.findall(code) if name not in constants)
        names = [name for name, _, _ in rows]
        yield from (f"docs/heuristics.md: {name} has several rows" for name in sorted({name for name in names if names.count(name) > 1}))
        yield from (f"docs/heuristics.md: {name} has no row below '{heading}'" for name in constants if name not in names)
        for name, value, rest in rows:
            if name not in constants:
                yield f"docs/heuristics.md: {name} is not defined in {header}"
            elif constants[name] != value:
                yield f"docs/heuristics.md: {name} is {value}, but {constants[name]} in {header}"
            if not rest[0] or (cells > 1 and (len(rest) != cells or not rest[3])):
                yield f"docs/heuristics.md: {name} lacks what it decides, or its gain"
    others = [path for path in (folder / "gpu/cost_model").iterdir() if path.suffix in (".h", ".cpp") and path.name != "thresholds.h"]
    for path in others:
        yield from (f"{path.name}: {name} belongs to thresholds.h or gpu_hardware.h" for name in ANY_CONSTANT.findall(path.read_text()))


def main():
    found = list(problems())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
