"""tests/gpu/run --blackwell, on the simulator: a result for each kernel, and an exit code."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(only):
    environment = {**os.environ, "TILEWRIGHT_TESTS_ON_GPU": ""}
    command = [sys.executable, ROOT / "tests" / "gpu" / "run", "--blackwell", "--simulate", "--only", only]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


def test_results():
    done = run("smaller_dots")
    assert done.returncode == 0 and done.stdout == "test_smaller_dots_use_mma_sync: 3 of 3 right\n3 ran, 0 wrong\n", done.stdout + done.stderr
