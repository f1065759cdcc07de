"""docs/architecture.md agrees with the tree: the steps in their order, the folders of src/, and files that exist."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text()
COMMAND = shutil.which("tilewright") or str(ROOT / "build" / "bin" / "tilewright")


def rows(heading):
    """The rows of the table whose first line begins with `heading`, as lists of cells."""
    table = TEXT[TEXT.index(heading):].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table]


def steps_of(target):
    lines = subprocess.run([COMMAND, "compile", "none.py", "--target", target, "--until", "steps"], capture_output=True, text=True).stdout
    return re.findall(r"^\d+ +([a-z-]+)", lines, re.M)


@pytest.mark.parametrize("target, machine", [("cpu", "processors"), ("cuda:sm_90a", "GPUs")])
def test_the_steps(target, machine):
    named = []
    for place, names in rows("| machine | its steps"):
        if place == "any" or place.startswith(machine):
            for name in names.split(", "):
                own = re.fullmatch(r"([a-z-]+)(?: \(on GPUs ([a-z-]+)\))?", name)
                named.append(own[2] if own[2] and machine == "GPUs" else own[1])
    assert named == steps_of(target) and len(named) > 10


def test_the_folders():
    named = [re.fullmatch(r"`(\w+)`", row[0])[1] for row in rows("| folder | in | out |")]
    assert set(named) == {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}


@pytest.mark.parametrize("page", ["architecture.md", "invariants.md", "glossary.md"])
def test_the_files(page):
    """A path on the page is that of a file or a folder, or the common beginning of several files' paths."""
    named = set(re.findall(r"`((?:\w+/)+[\w.*]*)`", (ROOT / "docs" / page).read_text()))
    places = [ROOT, ROOT / "src", ROOT / "python", ROOT / "python" / "tilewright", ROOT / "src" / "gpu"]
    missing = sorted(name for name in named if not any(any(place.glob(name.rstrip("*/").lstrip("/") + ("" if name.endswith("/") else "*"))) for place in places))
    assert not missing, missing
