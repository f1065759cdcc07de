"""`make bench` passes the examples' kernels their parameters, so a kernel with a new parameter would break it."""

import json
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


def test_attention(tmp_path):
    script = f"import bench, pathlib; bench.out_folder = pathlib.Path({str(tmp_path)!r}); bench.main()"
    subprocess.run([sys.executable, "-c", script, "--only", "attention", "--seconds", "0.01"], cwd=BENCHMARKS, check=True)
    head, *rows = [json.loads(line) for line in (tmp_path / "cpu.jsonl").read_text().splitlines()]
    assert head["machine"]["threads"] > 0 and all(rate > 0 for rate in head["peaks"].values()), head
    assert [row["name"] for row in rows] == ["attention", "attention causal"], rows
    assert all(row["ours"] > 0 and row["rivals"]["NumPy"] > 0 and row["share"] > 0 for row in rows), rows


def test_pictures():
    """Pictures are well-formed, and name each line and each range."""
    script = """if True:
        import svg
        print(svg.lines("a < b", "size", "GFLOP/s", [64, 100, 4096], {"ours": [1, 2, 3], "OpenBLAS": [2, 2, 2.5]}))
        print("----")
        print(svg.ranges("ratios", [("a GPU", [("matmul", 0.8, 1.1, 20)])], 0.5, 5, [0.5, 1, 5]))"""
    done = subprocess.run([sys.executable, "-c", script], cwd=BENCHMARKS, capture_output=True, text=True, check=True)
    lines, ranges = done.stdout.split("----\n")
    texts = lambda picture: [node.text for node in xml.etree.ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "ours", "OpenBLAS", "size", "GFLOP/s", "4096"} <= set(texts(lines))
    assert {"a GPU", "matmul", "1.10  (0.80 to 20.00)", "0.5x"} <= set(texts(ranges)) and "<path" in ranges
    assert lines.count("<polyline") == 2 and "prefers-color-scheme: dark" in lines
