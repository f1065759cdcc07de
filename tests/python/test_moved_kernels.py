"""A kernel that moves in its file, or to another one, keeps its code in the cache, but what names lines tells the present ones."""

import os
import pathlib
import subprocess
import sys

import pytest

HELPER = """
import triton
import triton.language as tl

@triton.jit
def check(x):
    tl.device_assert(x > 0, "positive")
"""
KERNEL = """
import sys
import numpy as np
import tilewright as triton
import tilewright.language as tl
from {helper} import check

@triton.jit
def asserting(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    {here}

@triton.jit
def plain(x_ptr):
    tl.store(x_ptr + tl.arange(0, 8), 1.0)
"""
RUN = """
import tilewright
with tilewright.engine(sys.argv[1]):
    try:
        asserting[(1,)](np.zeros(8, np.float32), debug=True)
    except Exception as error:
        print(str(error).splitlines()[0])
    plain[(1,)](np.zeros(8, np.float32))
"""
OWN, OTHER = 'tl.device_assert(x > 0, "positive")', "check(x)"


def run(folder, engine, kernel="kernel.py"):
    done = subprocess.run([sys.executable, kernel, engine], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.environ["PYTHONPATH"], "TILEWRIGHT_CACHE_DIR": str(folder / "cache")})
    assert done.returncode == 0, done.stderr
    return done.stdout


def line_of(path, text):
    (line,) = [number for number, each in enumerate(path.read_text().splitlines(), 1) if text in each]
    return line


def entries(folder):
    return sorted(str(path.relative_to(folder)) for path in (folder / "cache").rglob("*.twc"))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "helper.py").write_text("import tilewright\ntilewright.install()\n" + HELPER)
    return tmp_path


def write(folder, here, above="", helper="helper", name="kernel.py", inside=""):
    (folder / name).write_text(above + KERNEL.format(here=inside + here, helper=helper) + RUN)


@pytest.mark.parametrize("engine", ["cpu", "interpret", "simulate"])
def test_a_kernel_that_moved_names_its_new_line(folder, engine):
    for above, inside in (("", ""), ("#\n" * 40, ""), ("#\n" * 40, "# why\n\n    "), ("", "")):
        write(folder, OWN, above, inside=inside)
        assert f"kernel.py:{line_of(folder / 'kernel.py', 'device_assert')}:" in run(folder, engine)


@pytest.mark.parametrize("engine", ["cpu", "interpret", "simulate"])
def test_a_helper_that_moved_names_its_new_line(folder, engine):
    write(folder, OTHER)
    helper = folder / "helper.py"
    for _ in range(3):
        assert f"helper.py:{line_of(helper, 'device_assert')}:" in run(folder, engine)
        helper.write_text("#\n" * 7 + helper.read_text())


def test_another_name_of_the_file(folder):
    write(folder, OWN)
    assert "kernel.py:" in run(folder, "cpu")
    (folder / "kernel.py").rename(folder / "renamed.py")
    assert "renamed.py:" in run(folder, "cpu", "renamed.py")
    write(folder, OTHER)
    assert "helper.py:" in run(folder, "cpu")
    (folder / "helper.py").rename(folder / "helper2.py")
    write(folder, OTHER, helper="helper2")
    assert "helper2.py:" in run(folder, "cpu")


def test_code_without_lines_is_shared(folder):
    write(folder, OWN)
    run(folder, "cpu")
    before = entries(folder)
    write(folder, OWN, "#\n" * 9)
    run(folder, "cpu")
    assert len(entries(folder)) == len(before) + 1  # of `asserting` alone
