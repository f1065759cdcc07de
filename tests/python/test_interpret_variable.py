"""TRITON_INTERPRET=1 is read when a kernel is made, as in upstream; and kernels that exec defines."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright import knobs
from tilewright.runtime.interpreter import InterpretedFunction

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
    assert not isinstance(before, InterpretedFunction) and isinstance(after, InterpretedFunction)  # PyTorch passes other arguments to interpreted kernels
    out = np.zeros(4, np.int32)
    after[(1,)](out[1:])
    before[(1,)](out)
    assert list(out) == [1, 1, 0, 0]


def test_exec_makes_kernels_for_the_interpreter(monkeypatch):
    with pytest.raises(ValueError, match="source is read from its file, and"):
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
    for value in ("1", "true", "on", "Yes", "y"):
        subprocess.run([sys.executable, "-c", text], check=True, env={**os.environ, "TRITON_INTERPRET": value})
    assert not knobs.runtime.interpret


DEBUGGED = """
import pdb
import sys
import numpy as np
import tilewright as triton
import tilewright.language as tl

@triton.jit
def doubled(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    total = tl.sum(x)
    BREAK
    tl.store(out_ptr + offsets, x * 2)

x, out = np.arange(8, dtype=np.float16) / 2, np.zeros(8, np.float16)
doubled[(2,)](x, out, 7, N=8)
print("out", out.tolist())
"""


def debugged(tmp_path, call, commands, **variables):
    path = tmp_path / "debugged.py"
    path.write_text(DEBUGGED.replace("BREAK", call))
    return subprocess.run([sys.executable, str(path)], input=commands, text=True, capture_output=True,
                          env={**os.environ, "TRITON_INTERPRET": "1", **variables})


@pytest.mark.parametrize("call", ["breakpoint()", "pdb.set_trace()"])
def test_a_breakpoint_shows_the_variables_of_each_program(tmp_path, call):
    done = debugged(tmp_path, call, "p x, x.dtype\np float(total), bool((offsets < n).all()), program\nc\np program\nc\n")
    assert done.returncode == 0, done.stderr
    assert "array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. , 0. ], dtype=float32), dtype('float32')" in done.stdout
    assert "(10.5, False, (0, 0, 0))" in done.stdout and "(1, 0, 0)" in done.stdout
    assert "debugged.py(14)doubled()" in done.stdout and "-> tl.store(out_ptr + offsets, x * 2)" in done.stdout
    assert "out [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0]" in done.stdout


def test_who_quits_at_a_breakpoint_ends_the_launch(tmp_path):
    done = debugged(tmp_path, "breakpoint()", "q\n")
    assert done.returncode != 0 and "bdb.BdbQuit" in done.stderr and "out" not in done.stdout.split("-> ")[-1].split("\n", 1)[1]
    ignored = debugged(tmp_path, "breakpoint()", "", PYTHONBREAKPOINT="0")
    assert ignored.returncode == 0 and "out [0.0, 1.0" in ignored.stdout


def test_compiled_code_has_no_breakpoints(tmp_path):
    done = debugged(tmp_path, "breakpoint()", "", TRITON_INTERPRET="0")
    assert "debugged.py:13:5: error: a breakpoint in compiled code is not supported in a kernel" in done.stderr and "TRITON_INTERPRET=1" in done.stderr


WARNED = """
import warnings
import numpy as np
import tilewright as triton
import tilewright.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 4)
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    quotient = x / y
    difference = x - y
    root = tl.sqrt(x)
    exponential = tl.exp(y)
    logarithm = tl.log(x)
    highest = tl.max(quotient)
    total = tl.sum(difference)
    tl.store(out_ptr + at, quotient + root + exponential + logarithm + highest + total)

def told(x, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel[(2,)](np.array(x, np.float32), np.array(y, np.float32), np.zeros(4, np.float32))
    assert all(each.category is RuntimeWarning for each in caught)
    return [(each.lineno - FIRST, str(each.message)) for each in caught]
"""


def test_numpys_warnings():
    first = WARNED.splitlines().index("def kernel(x_ptr, y_ptr, out_ptr):") + 1
    cases = [
        ([1, 2, 3, 4], [1, 1, 1, 1], []),
        ([1, 2, 3, 4], [0, 1, 1, 1], [(3, "divide by zero encountered in divide")]),
        ([0, 2, 3, 4], [0, 1, 1, 1], [(3, "invalid value encountered in divide"), (7, "divide by zero encountered in log")]),
        ([-1, 2, 3, 4], [1, 1, 1, 1], [(5, "invalid value encountered in sqrt"), (7, "invalid value encountered in log")]),
        ([1, 2, 3, 4], [1, 1, 1, 100], [(6, "overflow encountered in exp")]),
        ([float("inf"), 2, 3, 4], [float("inf"), 1, 1, 1], [(3, "invalid value encountered in divide"), (4, "invalid value encountered in subtract")]),
        ([float("nan")] * 4, [1, 1, 1, 1], [(8, "All-NaN slice encountered")]),
        ([2e38, 2e38, 1, 1], [-1, -1, 1, 1], [(9, "overflow encountered in reduce")]),
    ]
    text = WARNED + "".join(f"assert told({x!r}, {y!r}) == {expected!r}, told({x!r}, {y!r})\n" for x, y, expected in cases)
    text = text.replace("nan", "float('nan')").replace("inf", "float('inf')").replace("FIRST", str(first))
    done = subprocess.run([sys.executable, "-c", f"import linecache\ntext = {text!r}\nlinecache.cache['kernels.py'] = (len(text), None, text.splitlines(True), "
                           "'kernels.py')\nexec(compile(text, 'kernels.py', 'exec'), {})"],
                          env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_other_front_ends_do_not_warn(recwarn):
    @triton.jit
    def divided(x_ptr, out_ptr):
        tl.store(out_ptr, tl.load(x_ptr) / tl.load(x_ptr))

    with triton.engine("interpret"):
        divided[(1,)](np.zeros(1, np.float32), np.zeros(1, np.float32))
    assert not recwarn.list
