"""tools/check_heuristics.py compares the constants of the GPU's cost model with docs/heuristics.md."""

import pathlib
import shutil

import pytest

import tree_checks

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL, PAGE, FOLDER, HARDWARE = (pathlib.Path(name) for name in (
    "tools/check_heuristics.py", "docs/heuristics.md", "src/gpu/cost_model", "src/support/gpu_hardware.h"))
pytestmark = pytest.mark.skipif(not (ROOT / TOOL).exists(), reason="needs the source tree")


@pytest.fixture
def tree(tmp_path):
    for path in (TOOL, PAGE):
        (tmp_path / path).parent.mkdir()
        shutil.copy(ROOT / path, tmp_path / path)
    shutil.copytree(ROOT / FOLDER, tmp_path / FOLDER)
    (tmp_path / HARDWARE).parent.mkdir()
    shutil.copy(ROOT / HARDWARE, tmp_path / HARDWARE)
    return tmp_path


def check(tree, *change):
    return tree_checks.check(tree, TOOL, *change)


def test_the_tree_passes(tree):
    assert check(tree) == []


def test_another_value_in_the_header(tree):
    assert check(tree, FOLDER / "thresholds.h", "otherRegisters = 47;", "otherRegisters = 48;") == [
        "docs/heuristics.md: otherRegisters is 47, but 48 in gpu/cost_model/thresholds.h"]


def test_another_value_on_the_page(tree):
    assert check(tree, PAGE, "| `sectorBytes` | 32 |", "| `sectorBytes` | 64 |") == ["docs/heuristics.md: sectorBytes is 64, but 32 in support/gpu_hardware.h"]


def test_a_constant_without_a_row(tree):
    assert check(tree, FOLDER / "thresholds.h", "constexpr int64_t shuffleCost", "constexpr int64_t selectCost = 1;\nconstexpr int64_t shuffleCost") == [
        "docs/heuristics.md: selectCost has no row below '## Tuned numbers'"]


def test_a_row_without_a_constant(tree):
    assert check(tree, FOLDER / "thresholds.h", "constexpr int64_t copyRegisters = 16;", "") == ["docs/heuristics.md: copyRegisters is not defined in gpu/cost_model/thresholds.h"]


def test_an_expression_and_a_constant_elsewhere(tree):
    assert check(tree, HARDWARE, "sectorBytes = 32;", "sectorBytes = 4 * 8;")[0] == "support/gpu_hardware.h: sectorBytes is not one number on a line of its own"
    (tree / HARDWARE).write_text((ROOT / HARDWARE).read_text())
    assert check(tree, FOLDER / "registers.h", "// ---- warp specialization", "constexpr int64_t reserve = 8;") == ["registers.h: reserve belongs to thresholds.h or gpu_hardware.h"]


def test_a_row_without_a_gain(tree):
    row = next(line for line in (tree / PAGE).read_text().splitlines() if line.startswith("| `producerRegisters` |"))
    cells = row.split("|")
    cells[6] = " "
    assert check(tree, PAGE, row, "|".join(cells)) == ["docs/heuristics.md: producerRegisters lacks what it decides, or its gain"]
