#!/usr/bin/env python3
"""The tables of docs/performance.md that are nothing but rows of results: what `tests/gpu/run -o` has written, beside the better rival.

    tools/results_table.py                      writes every marked table anew from the files that its mark names
    tools/results_table.py --new OLD NEW        the same, where NEW (a file of benchmarks/results) takes the place of OLD in the whole
                                                page, and of all files of a mark that names OLD
    tools/results_table.py --check              says which tables are not what their files say, and exits with 1 if any is

A mark is a comment in front of the table, with files and, behind a colon, the names of the rows that are wanted; without names all are. Of
two files that have the same row the last one is taken:

    <!-- rows of h200_2026-11-22d.jsonl: matmul; matmul, columns of B -->
    | work | size | type | unit | ours | Triton | library | ratio |
"""

import argparse
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE, RESULTS = ROOT / "docs/performance.md", ROOT / "benchmarks/results"
MARK = re.compile(r"^<!-- rows of (?P<files>[^:>]+?)(?:: (?P<names>[^>]+?))? -->$")
HEAD = ["| work | size | type | unit | ours | Triton | library | ratio |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
TIMES = ("us", "ms")  # units of which less is better


def name_of(row):
    return row["name"].removeprefix("sizes: ")


def table_line(row):
    """A row of the table. The ratio is to the better of Triton, whatever configurations it was given, and the library."""
    best = min if row["unit"] in TIMES else max
    ours, rivals = row["ours"], row["rivals"]
    triton = [value for name, value in rivals.items() if name.startswith("triton")]
    library = ", ".join(f"{name} {value}" for name, value in rivals.items() if not name.startswith("triton"))
    ratio = ""
    if ours and rivals:
        bound = best(rivals.values())
        ratio = f"{bound / ours if best is min else ours / bound:.2f}"
    cells = [name_of(row), row["size"], row["dtype"], row["unit"], "" if ours is None else ours, best(triton) if triton else "", library,
             ratio]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(files, names, folder):
    rows = {}
    for file in files:
        for line in (folder / file).read_text().splitlines():
            row = json.loads(line)
            if "rivals" in row and (not names or name_of(row) in names):
                rows[name_of(row), row["size"], row["dtype"]] = row
    return HEAD + [table_line(row) for row in rows.values()]


def rewritten(page, folder):
    """The page with its marked tables as their files have them."""
    lines, done = page.split("\n"), []
    while lines:
        done.append(lines.pop(0))
        mark = MARK.match(done[-1])
        if not mark:
            continue
        while lines and lines[0].startswith("|"):
            lines.pop(0)
        names = mark["names"].split("; ") if mark["names"] else []
        done += table(mark["files"].split(", "), names, folder)
    return "\n".join(done)


def replaced(page, old, new):
    def mark_of(line):
        mark = MARK.match(line)
        return line.replace(mark["files"], new) if mark and old in mark["files"].split(", ") else line
    return "\n".join(map(mark_of, page.split("\n"))).replace(old, new)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--new", nargs=2, metavar=("OLD", "NEW"), help="files of benchmarks/results")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    page = PAGE.read_text()
    wanted = rewritten(replaced(page, *options.new) if options.new else page, RESULTS)
    if options.check:
        for number, (is_now, should_be) in enumerate(zip(page.split("\n"), wanted.split("\n")), 1):
            if is_now != should_be:
                sys.exit(f"docs/performance.md:{number}: {is_now}\nits file says: {should_be}")
        return
    PAGE.write_text(wanted)


if __name__ == "__main__":
    main()
