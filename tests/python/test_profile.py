"""`tilewright profile`: a script's kernels, with their bytes and operations."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import tilewright

COMMAND = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"

_SCRIPT = """
import sys
import numpy as np
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2.0 + 1.0, mask=at < n)

@triton.jit(launch_metadata=lambda grid, kernel, args: {"name": "named", "flops": 1e6, "bytes": 5000})
def told_kernel(x_ptr):
    tl.store(x_ptr, 1.0)

x = np.ones(4096, np.float32)
y = np.empty_like(x)
for _ in range(int(sys.argv[1])):
    scale_kernel[(4,)](x, y, x.size, BLOCK=1024)
told_kernel[(1,)](x)
print("the script has run", sys.argv[2])
"""


@pytest.fixture
def run(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)

    def profile(*options, arguments=("3", "--json")):
        return subprocess.run([sys.executable, "-m", "tilewright.profile", *options, script, *arguments], capture_output=True, text=True,
                              env={**os.environ, "TILEWRIGHT_CACHE": "0"})
    return profile


def test_kernels_with_calls_bytes_and_operations(run, tmp_path):
    done = run("--json", "--no-peaks", "--trace", tmp_path / "trace.json")
    assert done.returncode == 0, done.stderr
    assert "the script has run --json" in done.stderr
    rows = {row["kernel"]: row for row in json.loads(done.stdout)["kernels"]}
    scale = rows["scale_kernel"]
    assert (scale["calls"], scale["bytes"], scale["flops"]) == (3, 3 * 2 * 4096 * 4, 3 * 2 * 4096)
    assert scale["gb_per_s"] == pytest.approx(scale["bytes"] / scale["seconds"] / 1e9) and "fraction_of_peak" not in scale
    assert (rows["named"]["bytes"], rows["named"]["flops"]) == (5000, 1e6)
    assert sum(row["share_of_time"] for row in rows.values()) == pytest.approx(1)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event["cat"] == "kernel"].count("scale_kernel") == 3
    steps = {event["name"] for event in events if event["cat"] == "compile"}
    assert {"scale_kernel: lower-to-loops", "scale_kernel: generate-code"} <= steps
    assert all(event["ph"] == "X" and event["dur"] >= 0 and event["ts"] > 0 for event in events)


def test_programs_that_differ_are_counted_together(tmp_path):
    script = tmp_path / "causal.py"
    script.write_text("""
import numpy as np
import triton
import triton.language as tl

@triton.jit
def causal_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(0, at + 1):
        total += tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + at * BLOCK + tl.arange(0, BLOCK), total)

x = np.ones((100, 256), np.float32)
causal_kernel[(100,)](x, np.empty_like(x), BLOCK=256)
""")
    done = subprocess.run([sys.executable, "-m", "tilewright.profile", "--json", "--no-peaks", script], capture_output=True, text=True)
    (row,) = json.loads(done.stdout)["kernels"]
    assert row["flops"] == pytest.approx(256 * 100 * 101 / 2, rel=0.02)  # the first program does one addition for each lane, the last one 100


def test_dots_have_the_peak_of_their_type():
    from tilewright import profile
    machine = {"bytes_per_second": 1e12, "float32": 1e12, "tf32": 4e12, "float16": 8e12}
    row = {"calls": 1, "seconds": 1.0, "bytes": 0, "flops": 5e12, "products": {"float16": 4e12}}
    profile.add_rates([row], machine)
    assert row["fraction_of_peak"] == 0.5 + 1  # 4 of 8 for products, and 1 of 1 for other operations
    row = {"calls": 1, "seconds": 1.0, "bytes": 0, "flops": 4e12, "products": {"int8": 4e12}}
    profile.add_rates([row], machine)
    assert row["fraction_of_peak"] == 0.25


def test_a_table_with_fractions_of_the_peak(run):
    done = run(arguments=("2", "x"))
    assert done.returncode == 0, done.stderr
    heading, *lines = done.stdout.splitlines()
    assert heading.split() == ["kernel", "calls", "time", "a", "call", "share", "GB/s", "TFLOP/s", "of", "peak"]
    assert any(line.startswith("scale_kernel") and line.rstrip().endswith("%") for line in lines)


def test_a_script_that_fails_is_told(run, tmp_path):
    done = run("--no-peaks", arguments=())
    assert done.returncode == 1 and "IndexError at " in done.stderr.splitlines()[-1]
    assert "tilewright/profile.py" not in done.stderr and 'sys.argv[1]' in done.stderr  # the script's own lines alone
    assert done.stdout == ""
    done = run("--no-peaks", "--json", arguments=())
    assert done.returncode == 1 and "IndexError" in json.loads(done.stdout)["error"]
    done = run("--no-peaks", "--json", "--trace", "/no/such/folder/trace.json")  # the results are not lost
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert json.loads(done.stdout)["kernels"] and "cannot write '/no/such/folder/trace.json'" in json.loads(done.stdout)["error"]
    (tmp_path / "broken.py").write_bytes(b"print('no end'\0")
    broken = subprocess.run([sys.executable, "-m", "tilewright.profile", tmp_path / "broken.py"], capture_output=True, text=True)
    assert broken.returncode == 1 and "Traceback" not in broken.stderr and "null bytes" in broken.stderr
    missing = subprocess.run([sys.executable, "-m", "tilewright.profile", tmp_path / "none.py"], capture_output=True, text=True)
    assert missing.returncode == 1 and "cannot read" in missing.stderr


@pytest.mark.skipif(not COMMAND.exists(), reason="the command is not next to this package, which is not in a build folder")
def test_the_command(tmp_path):
    (tmp_path / "script.py").write_text(_SCRIPT)
    done = subprocess.run([COMMAND, "profile", "--no-peaks", tmp_path / "script.py", "2", "--whatever"], capture_output=True, text=True)
    assert done.returncode == 0 and "scale_kernel" in done.stdout and "the script has run --whatever" in done.stderr
    wrong = subprocess.run([COMMAND, "profile", "--traces", tmp_path / "script.py"], capture_output=True, text=True)
    assert wrong.returncode == 1 and "--trace" in wrong.stderr
