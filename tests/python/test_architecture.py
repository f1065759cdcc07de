"""docs/architecture.md and the stage pages agree with the tree: the steps in their order, the folders of src/, files that exist, and sizes."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
STAGES = sorted(path.relative_to(DOCS).as_posix() for path in (DOCS / "stages").glob("*.md"))
TEXT = (DOCS / "architecture.md").read_text()
COMMAND = shutil.which("tilewright") or str(ROOT / "build" / "bin" / "tilewright")


def rows(heading):
    """The rows of the table whose first line begins with `heading`, as lists of cells."""
    table = TEXT[TEXT.index(heading):].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def steps_of(target):
    lines = subprocess.run([COMMAND, "compile", "none.py", "--target", target, "--until", "steps"], capture_output=True, text=True).stdout
    return re.findall(r"^\d+ +([a-z-]+)", lines, re.M)


@pytest.mark.parametrize("target, machine", [("cpu", "CPUs"), ("cuda:sm_90a", "GPUs")])
def test_the_steps(target, machine):
    named = []
    for group, names in rows("| machine | its steps"):
        if group == "any" or group.startswith(machine):
            for name in names.split(", "):
                own = re.fullmatch(r"([a-z-]+)(?: \(on GPUs ([a-z-]+)\))?", name)
                named.append(own[2] if own[2] and machine == "GPUs" else own[1])
    assert named == steps_of(target) and len(named) > 10


def test_the_folders():
    named = [re.fullmatch(r"`(\w+)`", row[0])[1] for row in rows("| folder | in | out |")]
    assert set(named) == {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}


@pytest.mark.parametrize("page", ["architecture.md", "invariants.md", "heuristics.md", "glossary.md", "adding.md", *STAGES])
def test_the_files(page):
    """A path on the page is that of a file or a folder, or the common beginning of several files' paths."""
    named = set(re.findall(r"`((?:\w+/)+[\w.*]*)`", (DOCS / page).read_text()))
    folders = [ROOT, ROOT / "src", ROOT / "python", ROOT / "python" / "tilewright", ROOT / "src" / "gpu"]
    named = {name for name in named if "fold_masks" not in name}  # the pass of the recipe
    missing = sorted(name for name in named if not any(any(folder.glob(name.rstrip("*/").lstrip("/") + ("" if name.endswith("/") else "*"))) for folder in folders))
    assert not missing, missing


@pytest.mark.parametrize("page", STAGES)
def test_the_stage_pages(page):
    """A stage page is short, begins with what goes in and out, has a diagram, ends with files and tests, and is linked from the map."""
    text = (DOCS / page).read_text()
    assert len(text.splitlines()) <= 120
    title, first = text.split("\n\n")[:2]
    assert title.startswith("# ") and first.startswith("**In**: ") and "**Out**: " in first
    assert text.count("\n```\n") >= 2
    assert text.index("\n## Files and tests\n") == text.rindex("\n## ")
    assert f"({page})" in TEXT


def test_all_stages():
    assert len(STAGES) == 21
