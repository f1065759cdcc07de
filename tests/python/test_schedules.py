"""Schedules that a user changes by hand are refused or carried out (tests/fuzz/schedules.py has more)."""

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "schedules.py"


@pytest.mark.parametrize("kernels, first", [("keys_kernel", 0), ("attention_kernel", 1000), ("tuned_matmul_kernel", 2000)])
def test_changed_schedules(kernels, first):
    command = [sys.executable, SCRIPT, "--only", kernels, "--first", str(first), "--count", "48", "--seconds", "60"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout
