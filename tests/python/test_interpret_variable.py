"""TRITON_INTERPRET=1: read when a kernel is made, as upstream reads it; kernels that exec makes."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright import knobs

SOURCE = """
import tilewright as triton
import tilewright.language as tl

@triton.jit
def made(x):
    tl.store(x, 7)
"""


def test_a_kernel_is_interpreted_if_the_variable_is_set_when_it_is_made(monkeypatch):
    @triton.jit
    def before(x):
        tl.store(x, 1)

    monkeypatch.setenv("TRITON_INTERPRET", "1")

    @triton.jit
    def after(x):
        tl.store(x, 1)

    assert (before._interpreted, after._interpreted) == (False, True)
    out = np.zeros(4, np.int32)
    after[(1,)](out[1:])
    before[(1,)](out)
    assert list(out) == [1, 1, 0, 0]


def test_exec_makes_kernels_for_the_interpreter(monkeypatch):
    with pytest.raises(ValueError, match="should be defined in a Python file"):
        exec(SOURCE, {})
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    names = {}
    text = SOURCE.replace("7", "9")
    exec(text, names)
    out = np.zeros(1, np.int32)
    names["made"][(1,)](out)
    assert out[0] == 9


def test_the_whole_process():
    text = "import tilewright as t, numpy as n\nassert t.knobs.runtime.interpret\n" + f"source = {SOURCE!r}\nnames = {{}}\nexec(source, names)\n" \
        "x = n.zeros(1, n.int32)\nnames['made'][(1,)](x)\nassert x[0] == 7"
    for value in ("1", "true", "on"):
        subprocess.run([sys.executable, "-c", text], check=True, env={**os.environ, "TRITON_INTERPRET": value})
    assert not knobs.runtime.interpret
