"""A fixed range of random programs, at each level of instructions and on the simulated GPU (tests/fuzz/differential.py has more)."""

import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.parametrize("engine", ["cpu"], indirect=True)  # the script runs all engines
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TRITON_DEBUG"}  # integers wrap around on purpose
SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "differential.py"


@pytest.mark.parametrize("level", ["sse2", "avx2", "avx512", "simulate"])
def test_compiled_code_agrees_with_the_interpreter(level, engine):
    first = {"sse2": 0, "avx2": 1000, "avx512": 2000, "simulate": 3000}[level]
    count = "60" if level == "simulate" else "120"
    command = [sys.executable, SCRIPT, "--levels", level, "--first", str(first), "--count", count, "--seconds", "60"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("programs, level, count", [("--addresses", "avx2", 40), ("--addresses", "simulate:sm_80", 60), ("--addresses", "simulate:sm_90a", 60),
                                                    ("--indices", "sse2", 60), ("--indices", "avx2", 200), ("--indices", "avx512", 200), ("--indices", "simulate", 100)])
def test_addresses_and_indices(programs, level, count, engine):
    command = [sys.executable, SCRIPT, programs, "--levels", level, "--first", "0", "--count", str(count), "--seconds", "60"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
    assert result.returncode == 0, result.stdout
