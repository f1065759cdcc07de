"""The tables of docs/performance.md are made from files of results (tools/results_table.py)."""

import importlib.util
import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/results_table.py"
pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="needs the source tree")


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("results_table", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_as_its_files_have_it(tool):
    page = tool.PAGE.read_text()
    assert "<!-- rows of " in page
    assert tool.rewritten(page, tool.RESULTS) == page, "run tools/results_table.py"


def write(folder, name, *rows):
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in ({"card": "a card"}, *rows)))


def row(name, size, unit, ours, **rivals):
    rivals = {key.replace("_", " "): value for key, value in rivals.items()}
    return dict(name=name, size=size, dtype="fp16", unit=unit, ours=ours, rivals=rivals)


def test_rows_become_a_table(tool, tmp_path):
    write(tmp_path, "old.jsonl", row("matmul", "1", "TFLOP/s", 90, triton=60, triton_persistent=80, cublas=100),
          row("softmax", "1", "GB/s", 5))
    write(tmp_path, "new.jsonl", row("matmul", "1", "TFLOP/s", 110, triton=60, cublas=100),
          row("sizes: softmax", "2", "GB/s", None, torch=4), row("compile", "1", "ms", 20, triton=50))
    page = "before\n<!-- rows of old.jsonl: matmul -->\n| stale |\n\nafter, from `old.jsonl`\n"
    first = "| matmul | 1 | fp16 | TFLOP/s | 90 | 80 | cublas 100 | 0.90 |"
    now = tool.rewritten(page, tmp_path)
    assert now.split("\n")[2:6] == [*tool.HEAD, first, ""] and now.endswith("\nafter, from `old.jsonl`\n")
    assert tool.rewritten(now, tmp_path) == now
    second = first.replace("| 90 | 80 |", "| 110 | 60 |").replace("0.90", "1.10")
    both = tool.rewritten(page.replace("old.jsonl: matmul", "old.jsonl, new.jsonl"), tmp_path)
    softmax = ["| softmax | 1 | fp16 | GB/s | 5 |  |  |  |", "| softmax | 2 | fp16 | GB/s |  |  | torch 4 |  |"]
    assert both.split("\n")[4:8] == [second, *softmax, "| compile | 1 | fp16 | ms | 20 | 50 |  | 2.50 |"]
    newer = tool.replaced(both, "old.jsonl", "new.jsonl")
    assert "<!-- rows of new.jsonl -->" in newer and "from `new.jsonl`" in newer
