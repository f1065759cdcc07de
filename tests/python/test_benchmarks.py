"""`make bench` passes the gallery's kernels their parameters, so a kernel with a new parameter would break it."""

import json
import pathlib
import subprocess
import sys

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


def test_attention(tmp_path):
    script = f"import bench, pathlib; bench.out_folder = pathlib.Path({str(tmp_path)!r}); bench.main()"
    subprocess.run([sys.executable, "-c", script, "--only", "attention", "--seconds", "0.01"], cwd=BENCHMARKS, check=True)
    facts, *rows = [json.loads(line) for line in (tmp_path / "cpu.jsonl").read_text().splitlines()]
    assert facts["machine"]["threads"] > 0 and all(rate > 0 for rate in facts["peaks"].values()), facts
    assert [row["name"] for row in rows] == ["attention", "attention causal"], rows
    assert all(row["ours"] > 0 and row["rivals"]["NumPy"] > 0 and row["share"] > 0 for row in rows), rows


def test_table():
    """In the table of a stored run, each row has its size and its ratio in the machine's column."""
    done = subprocess.run([sys.executable, "table.py", "Zen 5=cpu_zen5:2026-11-22e"], cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "| work | size | type | threads | rival | reach | win | Zen 5 |"
    assert "| gemm | 512 | fp32 | 1 | OpenBLAS | 0.90 | 1.02 | 1.92 |" in lines


def test_roofline():
    command = [sys.executable, "roofline.py", "cpu_xeon_emeraldrapids", "2026-11-24_amx", "2026-11-24_amx_again"]
    picture = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=True).stdout
    assert picture == (BENCHMARKS.parent / "docs" / "roofline_xeon.svg").read_text()
    assert "attention backward causal 2x4096x128 bf16" in picture and "product int8 2048 int8" in picture
