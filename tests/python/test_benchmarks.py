"""`make bench` calls the gallery's kernels by their parameters, so a kernel that gets another one breaks it."""

import json
import pathlib
import subprocess
import sys

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


def test_attention(tmp_path):
    script = f"import bench, pathlib; bench.out_folder = pathlib.Path({str(tmp_path)!r}); bench.main()"
    subprocess.run([sys.executable, "-c", script, "--only", "attention", "--seconds", "0.01"], cwd=BENCHMARKS, check=True)
    rows = [json.loads(line) for line in (tmp_path / "cpu.jsonl").read_text().splitlines()]
    machine, *rows = rows
    assert machine.keys() == {"machine", "peaks"} and [row["name"] for row in rows] == ["attention", "attention causal"], rows
    assert all(row["ours"] > 0 and row["rivals"]["NumPy"] > 0 for row in rows), rows
