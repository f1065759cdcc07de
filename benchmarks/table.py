"""The table of docs/performance.md: one row a measurement, one column a machine, from files of benchmarks/results.

    benchmarks/table.py "Zen 5=cpu_zen5:2026-11-22e,2026-11-23" "Xeon=cpu_xeon_emeraldrapids:2026-11-23_main_native"

A column names a file and runs in it (the lines' `run`); where two runs have a row, the later one counts. A cell is the ratio to the rival,
as of bench.py, with the share of what the machine reaches at best behind it where that was measured.
"""

import json
import pathlib
import sys

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
SMALLEST_FIRST = ["launch", "gemm, small", "gemm", "product", "vector", "softmax", "layer", "attention backward", "attention", "compile"]
NO_ROW = ["sweep", "backward sums"]  # of one size among many, or no longer measured: on CPUs both forms of attention backward are one


def rival(row):
    """Which rival the ratio is taken with."""
    wanted = lambda value: abs(row["ours"] / value / row["ratio"] - 1) < 1e-6 or abs(value / row["ours"] / row["ratio"] - 1) < 1e-6
    return next((name for name, value in row["rivals"].items() if wanted(value)), "goal")


def rows_of(column):
    """The title, and the rows by what they measure."""
    title, where = column.split("=")
    file, runs = where.split(":")
    lines = [json.loads(line) for line in (RESULTS / f"{file}.jsonl").read_text().splitlines()]
    found = {}
    for run in runs.split(","):
        for line in lines:
            if line["run"] == run and line.get("ratio") and not any(word in line["name"] for word in NO_ROW):
                found[line["name"], str(line["size"]), line["dtype"], line["threads"], rival(line)] = line
    return title, found


def cell(row):
    if row is None:
        return ""
    share = f" ({100 * row['share']:.0f} %)" if row.get("share") else ""
    return f"{row['ratio']:.2f}{share}"


def main():
    columns = [rows_of(column) for column in sys.argv[1:]]
    keys = {key: row for _, rows in reversed(columns) for key, row in rows.items()}
    order = lambda key: next((place for place, begin in enumerate(SMALLEST_FIRST) if key[0].startswith(begin)), len(SMALLEST_FIRST) - 1.5)
    titles = ["work", "size", "type", "threads", "rival", "reach", "win", *(title for title, _ in columns)]
    print("| " + " | ".join(titles) + " |\n|" + " --- |" * len(titles))
    for key in sorted(keys, key=order):
        row = keys[key]
        limits = [f"{row[name]:.2f}" if row[name] else "" for name in ("reach", "win")]
        print("| " + " | ".join([*map(str, key), *limits, *(cell(rows.get(key)) for _, rows in columns)]) + " |")


if __name__ == "__main__":
    main()
