"""The kernel in the README is exactly that of the first example."""

import pathlib

import pytest

root = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def engine():
    """There is no engine, because no kernel runs here."""


def test_the_first_kernel():
    block = (root / "README.md").read_text().split("```python\n")[1].split("```")[0]
    assert block in (root / "examples" / "01_vector_add.py").read_text()
