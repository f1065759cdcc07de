"""The types of results with Python numbers are those of the release that triton.__version__ reports: all of them, against what that release answered."""

import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).with_name("scalar_types")


@pytest.mark.parametrize("release", ["3.9"])
def test_every_row(release):
    environment = os.environ | {"TILEWRIGHT_TRITON_VERSION": release}
    command = [sys.executable, str(FOLDER / "check.py"), str(FOLDER / f"triton_{release}.txt")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == ""
