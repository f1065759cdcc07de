"""docs/api.md lists which of Triton's names the package has."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not (ROOT / "tools/api_table.py").exists(), reason="needs the source tree")
def test_the_table_is_true():
    done = subprocess.run([sys.executable, str(ROOT / "tools/api_table.py"), "--check"], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
