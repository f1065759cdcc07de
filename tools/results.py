#!/usr/bin/env python3
"""Result files of benchmarks/results: one for each CPU and one for each GPU model. Reads them, and merges newer rows into them.

    tools/results.py MACHINE FILE[:RUN[,RUN]] ... [--run NAME] [--date DATE] [--properties KEY=VALUE ...] [--only NAME ...]

merges the rows of FILE (what `make bench`, `benchmarks/bench.py --sweep`, `tests/gpu/run -o` or tests/gpu/device/plain_rows.py wrote) into
benchmarks/results/MACHINE.jsonl. A row replaces an older one with the same name, size, type, threads, vector level and baselines. Later files win.
A file holds one line for each run, with its date, machine and versions, and one line for each row, which names its run. Runs without a row are dropped.
tools/performance_page.py makes the pages from these files.
"""

import argparse
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks/results"
LESS_IS_BETTER = {"us", "ms", "s"}
OWN = {"own AB", "own best", "own fp32", "goal", "win", "1 Ki block", "half as long", "OpenMP fork-join"}  # references that are not another program


def is_row(line):
    return "name" in line and "ours" in line or "triton_us" in line


def plain(line):
    """A row of plain_rows.py in the form of the others: a kernel that was not tuned, in microseconds."""
    if "triton_us" not in line:
        return line
    return line | {"name": f"untuned: {line['name']}", "size": line["config"], "dtype": "", "unit": "us", "ours": line["us"],
                   "rivals": {"triton": line["triton_us"]}}


class Row:
    """One measurement of a run."""

    def __init__(self, line, run):
        line = plain(line)
        self.run, self.level = run, run.get("level", "")
        self.name, self.size, self.dtype, self.unit = line["name"], str(line["size"]), line["dtype"], line["unit"]
        self.ours, self.threads = line["ours"], line.get("threads")
        self.baselines = {name: value for name, value in (line.get("rivals") or {}).items() if value and name not in OWN}

    @property
    def key(self):
        return self.name, self.size, self.dtype, self.threads, self.level, tuple(sorted(self.baselines))

    def best_of(self, names):
        """The best baseline among those whose name begins with one of `names`, or None."""
        values = [value for name, value in self.baselines.items() if name.startswith(tuple(names))]
        return (min if self.unit in LESS_IS_BETTER else max)(values) if values else None

    def ratio(self, names):
        """How many times as fast as the best of these baselines; None if one of both is missing."""
        other = self.best_of(names)
        if not self.ours or other is None:
            return None
        return other / self.ours if self.unit in LESS_IS_BETTER else self.ours / other


def read(lines):
    """(runs by name, [(line, Row)]) of a result file's lines."""
    runs = {}
    for line in lines:
        if not is_row(line):
            runs.setdefault(line["run"], line)
    return runs, [(line, Row(line, runs[line["run"]])) for line in lines if is_row(line)]


def load(machine, folder=RESULTS):
    """The rows of a machine's file, and its newest run."""
    runs, rows = read([json.loads(text) for text in (folder / f"{machine}.jsonl").read_text().splitlines()])
    return [row for _, row in rows], max(runs.values(), key=lambda run: (run["date"], run["run"]))


def level_of(run):
    return run["level"] if "level" in run else run["machine"].get("level", "") if isinstance(run.get("machine"), dict) else ""


def with_run(lines, name, date, more):
    """The lines of a fresh file, whose first line has its machine or GPU: each row names its run. `more`: further properties of the run."""
    head = next((line for line in lines if "machine" in line or "card" in line), {})
    run = {"run": name, "date": date} | {key: value for key, value in head.items() if key not in ("run", "date", "peaks")}
    if level_of(run) == "avx2":
        run["level"] = "avx2"
    return [run | more] + [{"run": name} | {key: value for key, value in line.items() if key != "run"} for line in lines if is_row(line)]


def merged(old, new):
    """The lines of a machine's file with newer ones."""
    runs = read(old)[0] | read(new)[0]
    rows = {row.key: line for line, row in read(old)[1]}
    for line, row in read(new)[1]:
        rows.pop(row.key, None)
        rows[row.key] = line
    used = {line["run"] for line in rows.values()}
    result = []
    for name in sorted(used, key=lambda name: (runs[name]["date"], name)):
        result += [runs[name], *(line for line in rows.values() if line["run"] == name)]
    return result


def wanted(given, only):
    """The lines of FILE[:RUN,...] that are wanted."""
    path, _, runs = given.partition(":")
    lines = [json.loads(text) for text in pathlib.Path(path).read_text().splitlines()]
    return [line for line in lines if (not runs or line.get("run") in runs.split(",")) and (not is_row(line) or not only or line["name"] in only)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("files", nargs="+", metavar="FILE[:RUN[,RUN]]")
    parser.add_argument("--run", help="the name of the run, if the lines have none; without it the file's name")
    parser.add_argument("--date", default="", help="YYYY-MM-DD, if the lines have none")
    parser.add_argument("--properties", nargs="+", default=[], metavar="KEY=VALUE", help="of the run: machine, pytorch, openblas, note, commit")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="take rows with these names alone")
    options = parser.parse_args()
    path = RESULTS / f"{options.machine}.jsonl"
    lines = [json.loads(text) for text in path.read_text().splitlines()] if path.exists() else []
    for given in options.files:
        fresh = wanted(given, options.only)
        if any("run" not in line for line in fresh):
            fresh = with_run(fresh, options.run or pathlib.Path(given).stem, options.date, dict(pair.split("=", 1) for pair in options.properties))
        if any(not run.get("date") for run in read(fresh)[0].values()):
            parser.error(f"{given} has no date: give --date")
        lines = merged(lines, fresh)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
