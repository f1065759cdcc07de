"""The table of names that CPython defines in every module has all names of this Python."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_every_name_of_this_python_is_known():
    done = subprocess.run([sys.executable, ROOT / "tools" / "python_builtins.py", "--check"], capture_output=True, text=True)
    assert not done.returncode, done.stdout + done.stderr
