"""Compares the results of two engines (tests/clients/run --compare): a table by suites, and the tests that pass under one of them alone."""

import collections
import fnmatch
import json
import pathlib
import re
import time

COLUMNS = ["both right", "only Triton", "only Tilewright", "neither", "skipped", "not run"]
HEAD = """# Third-party libraries

`tests/clients/run` runs the tests of libraries that use Triton, unchanged, once with Tilewright and once with the installed Triton. Both runs take the
same seeded sample. Each test has a time limit, and a crash ends only its own process. `tests/clients/run --list` prints the suites, their versions and
how to get them.

| column | meaning |
| --- | --- |
| both right | the test passes under both |
| only Triton | it passes under Triton and not under Tilewright; a table below gives the reason for each |
| only Tilewright | it fails under Triton and passes under Tilewright |
| skipped | the test skips itself, or expects to fail, under one of them |
| not run | the time of the run was over |
| time | seconds of the tests that pass under both, compilation included: Tilewright's over Triton's |

Triton does not run on a CPU. There, the second run uses PyTorch without Triton, that is, Inductor's C++ back end.
"""


def read(path):
    """(the first line: versions; {(suite, test): its result}; the last result of a test counts)"""
    first, *rest = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return first, {(row["suite"], row["test"]): row for row in rest}


def known_reasons(path):
    """[(suite, pattern of tests, reason)] of a file with lines `suite | pattern | reason`."""
    lines = [line for line in pathlib.Path(path).read_text().splitlines() if line.strip() and not line.startswith("#")]
    reasons = []
    for line in lines:
        parts = [part.strip() for part in line.split("|", 2)]
        if len(parts) != 3 or not parts[2]:
            raise SystemExit(f"{path}: not 'suite | pattern | reason': {line}")
        reasons.append(tuple(parts))
    return reasons


def collection_error(results, suite, test):
    """The message of the file that could not be imported, if there is one."""
    row = results.get((suite, test.split("::")[0] + "::(collection)"))
    return row and f"cannot be imported: {row['message']}"


def class_of(ours, stock):
    """The column of a test with these results; either may be missing (None)."""
    mine, theirs = (row["outcome"] if row else None for row in (ours, stock))
    if "not run" in (mine, theirs):
        return "not run"
    if theirs == "passed":
        return "both right" if mine == "passed" else "only Triton"
    if mine == "passed":
        return "only Tilewright" if theirs and theirs not in ("skipped", "expected") else "skipped" if theirs else "not run"
    if mine in ("skipped", "expected") or theirs in ("skipped", "expected"):
        return "skipped"
    return "neither" if mine and theirs else "not run"


def classify(ours, stock):
    """({suite: {column: [(test, our result, the other)]}})"""
    classes = collections.defaultdict(lambda: collections.defaultdict(list))
    for suite, test in sorted(ours.keys() | stock.keys()):
        if test.endswith("::(collection)"):
            continue
        mine, theirs = ours.get((suite, test)), stock.get((suite, test))
        if mine is None and (message := collection_error(ours, suite, test)):
            mine = {"outcome": "error", "message": message, "seconds": 0.0}
        classes[suite][class_of(mine, theirs)].append((test, mine, theirs))
    return classes


def ratio(rows):
    mine, theirs = (sum(row[i]["seconds"] for row in rows) for i in (1, 2))
    return f"{mine / theirs:.2f}" if theirs > 0 else ""


def table(classes):
    lines = ["| suite | " + " | ".join(COLUMNS) + " | time |", "| --- |" + " --- |" * (len(COLUMNS) + 1)]
    total = collections.defaultdict(list)
    for suite, columns in classes.items():
        for column, rows in columns.items():
            total[column] += rows
        lines.append(f"| {suite} | " + " | ".join(str(len(columns[column])) for column in COLUMNS) + f" | {ratio(columns['both right'])} |")
    return lines + ["| **sum** | " + " | ".join(str(len(total[column])) for column in COLUMNS) + f" | {ratio(total['both right'])} |"]


def cell(text):
    return re.sub(r"\s+", " ", text).replace("|", "\\|")[:160]


def times(classes):
    """Rows of what the programs measured: tests that recorded `compiled_ms` and `eager_ms` under both."""
    rows = [(test, mine["numbers"], theirs["numbers"]) for columns in classes.values() for test, mine, theirs in columns["both right"]
            if "eager_ms" in mine.get("numbers", {}) and "eager_ms" in theirs.get("numbers", {})]
    if not rows:
        return []
    lines = ["", "Compiled time over eager time, of the models of transformers:", "", "| program | Tilewright | Triton | Tilewright, seconds to compile | Triton |",
             "| --- | --- | --- | --- | --- |"]
    for test, mine, theirs in rows:
        relative = [f"{numbers['compiled_ms'] / numbers['eager_ms']:.2f}" for numbers in (mine, theirs)]
        lines.append(f"| {cell(test.split('::')[-1])} | {relative[0]} | {relative[1]} | {mine['compile_s']:.1f} | {theirs['compile_s']:.1f} |")
    return lines


def report(ours, stock, known):
    """(lines, the tests that pass under the installed Triton and not here and have no reason)"""
    (head, ours), (other, stock) = ours, stock
    classes, unexplained, reasons = classify(ours, stock), [], []
    for suite, columns in classes.items():
        for test, mine, _ in columns["only Triton"]:
            reason = next((reason for of, pattern, reason in known if of == suite and fnmatch.fnmatchcase(test, pattern.replace("[", "[[]"))), "")
            outcome = mine["outcome"] if mine else "missing"
            message = mine["message"] if mine else "there is no such test under this engine"
            reasons.append((suite, test, outcome, reason or message))
            if not reason:
                unexplained.append((suite, test, outcome, message))
    reference = "Inductor's C++" if head["device"] == "cpu" else f"Triton {other['triton']}"
    name = head["gpu"] if head["device"] == "cuda" else head["cpu"]
    lines = [f"{name}, {time.strftime('%Y-%m-%d')}, PyTorch {head['torch']}, Python {head['python']}; compared with {reference}. "
             f"{head['sample']} tests of each suite, seed {head['seed']}.", "", *table(classes)]
    if reasons:
        lines += ["", "| suite | test | here | why |", "| --- | --- | --- | --- |"]
        lines += [f"| {suite} | `{cell(test.split('/')[-1])}` | {outcome} | {cell(why)} |" for suite, test, outcome, why in reasons]
    return lines + times(classes), unexplained


def write_page(page, title, lines):
    """Replaces the page's section of this title, or adds it; sections of other titles stay."""
    old = page.read_text() if page.exists() else ""
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", old, re.MULTILINE | re.DOTALL))
    sections[title] = "\n" + "\n".join(lines) + "\n"
    page.write_text(HEAD + "".join(f"\n## {name}\n\n{text.strip()}\n" for name, text in sections.items()))


def compare(ours, stock, known, page, title):
    lines, unexplained = report(read(ours), read(stock), known_reasons(known))
    print("\n".join(lines))
    if page:
        write_page(pathlib.Path(page), title or "Results", lines)
    for suite, test, outcome, message in unexplained:
        print(f"passes under the other engine alone: {suite} {test}: {outcome}: {message}")
    return 1 if unexplained else 0
