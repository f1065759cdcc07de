"""The pages that quote speeds say what benchmarks/results says (tools/performance_page.py), and newer rows replace older ones (tools/results.py)."""

import importlib
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools"
pytestmark = pytest.mark.skipif(not (TOOLS / "performance_page.py").exists(), reason="needs the source tree")


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("performance_page")
    finally:
        sys.path.remove(str(TOOLS))


def test_pages_are_what_the_result_files_say(tool):
    for path, text in tool.wanted().items():
        assert (ROOT / path).read_text() == text, f"{path}: run tools/performance_page.py"


def test_the_page_stays_short_and_shows_its_worst_rows(tool):
    page = (ROOT / "docs/performance.md").read_text()
    assert len(page.splitlines()) <= 150
    data = tool.measured()
    for machine, (rows, _) in data.items():
        assert f"| {tool.MACHINES[machine][0]} | compared with |" in page
        for group in tool.groups_of(machine):
            rated = group.rows(rows)
            assert not rated or f"({rated[0][0]:.2f}–{rated[-1][0]:.2f})" in page


def test_every_block_is_on_a_page(tool):
    made = tool.blocks(tool.measured())
    named = {name for page in tool.PAGES for _, name, _ in tool.BLOCK.findall((ROOT / page).read_text())}
    assert named == set(made)


def test_there_is_one_file_for_each_machine(tool):
    files = {path.stem for path in (ROOT / "benchmarks/results").iterdir()}
    assert files == set(tool.MACHINES)
    for rows, _ in tool.measured().values():
        assert all(row.run["date"] for row in rows)


def test_ratios(tool):
    run = {"run": "a", "date": "2026-01-01"}
    row = lambda **values: tool.results.Row(dict(name="matmul", size="1", dtype="fp16", unit="TFLOP/s", ours=90) | values, run)
    assert row(rivals={"triton": 60, "triton persistent": 80, "cublas": 100}).ratio(["triton", "cublas"]) == 0.9
    assert row(rivals={"triton": 60, "triton persistent": 80, "cublas": 100}).ratio(["triton"]) == 90 / 80
    assert row(unit="us", rivals={"triton": 45, "cublas": 180}).ratio(["cublas", "triton"]) == 0.5
    assert row(ours=None, rivals={"triton": 4}).ratio(["triton"]) is None
    assert row(rivals={"own best": 100}).ratio(["own best"]) is None
    untuned = tool.results.Row({"name": "sort", "config": "(256, 1)", "us": 2.0, "triton_us": 3.0}, run)
    assert untuned.name == "untuned: sort" and untuned.ratio(["triton"]) == 1.5


def test_newer_rows_replace_older_ones(tmp_path):
    def write(name, *lines):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return tmp_path / name

    def row(size, ours, **rivals):
        return dict(name="matmul", size=size, dtype="fp16", unit="TFLOP/s", ours=ours, rivals=rivals)

    (tmp_path / "tools").mkdir()
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    (tmp_path / "tools/results.py").write_text((TOOLS / "results.py").read_text())
    merge = lambda *arguments: subprocess.run([sys.executable, tmp_path / "tools/results.py", "h100", *arguments], capture_output=True, text=True)
    old = write("old.jsonl", {"card": "a GPU", "triton": "3.6.0"}, row("1", 10, triton=9), row("2", 20, triton=9), {"card": "again"})
    new = write("new.jsonl", {"card": "a GPU", "triton": "3.7.0"}, row("1", 11, triton=9), row("1", 12, cublas=9))
    assert merge(old).returncode == 2  # no date
    assert merge(old, "--run", "first", "--date", "2026-01-01").returncode == 0
    assert merge(new, "--date", "2026-01-02", "--properties", "commit=abc", "note=a = b").returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "benchmarks/results/h100.jsonl").read_text().splitlines()]
    assert [(line["run"], line.get("ours")) for line in lines] == [("first", None), ("first", 20), ("new", None), ("new", 11), ("new", 12)]
    assert lines[2] == {"run": "new", "date": "2026-01-02", "card": "a GPU", "triton": "3.7.0", "commit": "abc", "note": "a = b"}
    assert merge(write("all.jsonl", {"card": "a GPU"}, row("2", 1, triton=9), {"name": "copy"}), "--date", "2026-01-03", "--only", "copy").returncode == 0
    assert len((tmp_path / "benchmarks/results/h100.jsonl").read_text().splitlines()) == 5
