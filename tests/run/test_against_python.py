"""Scalar kernels and CPython agree about names, control flow and arithmetic (tests/fuzz/against_python.py has random ones without end)."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "fuzz" / "against_python.py"


@triton.jit
def inner_target(o, n, m):
    i = 100
    for j in range(n):
        for i in range(m):
            tl.store(o + 1, i)
    tl.store(o, i)


@triton.jit
def inner_target_under_if(o, n, m):
    i = 7
    for k in range(n):
        if k > 1:
            for i in range(m):
                tl.store(o + 1, i)
    tl.store(o, i)


@triton.jit
def unrolled_target(o, n, m):
    i = 7
    for k in range(n):
        for i in tl.static_range(3):
            tl.store(o + 1, i)
    tl.store(o, i)


@triton.jit
def target_read_before_the_inner_loop(o, n, m):
    i = 50
    s = 0
    for k in range(n):
        s += i
        for i in range(m):
            s += 1
    tl.store(o, s)


@triton.jit
def walrus_in_a_conditional_expression(o, n, m):
    i = 7
    for j in range(n):
        x = (i := j + 1) if n > m else (i := 100)
        tl.store(o + 1, x)
    tl.store(o, i)


@triton.jit
def walrus_in_its_condition(o, n, m):
    i = 7
    k = 0
    while k < n:
        x = 1 if (i := k) > 100 else 0
        tl.store(o + 1, x)
        k += 1
    tl.store(o, i)


@triton.jit
def walrus_in_one_arm(o, n, m):
    i = 7
    x = (i := 9) if n > 100 else 3
    tl.store(o, i)
    tl.store(o + 1, x)


@triton.jit
def walrus_in_a_tuple(o, n, m):
    i = 7
    for j in range(n):
        t = ((i := j + 1), 5)
        tl.store(o + 1, t[0])
    tl.store(o, i)


@triton.jit
def walrus_in_an_assertion(o, n, m):
    i = 7
    for j in range(n):
        assert (i := j + 2) > 0
    tl.store(o, i)


@triton.jit
def walrus_in_an_inner_range(o, n, m):
    i = 7
    for j in range(n):
        for k in range((i := j + 1)):
            tl.store(o + 1, k)
    tl.store(o, i)


@triton.jit
def walrus_in_a_comprehension(o, n, m):
    w = 1
    e = 40
    for j in range(n):
        t = [(w := w + e) for e in (1, 2)]
        tl.store(o + 1, t[1])
    tl.store(o, w)
    tl.store(o + 2, e)


@triton.jit
def walrus_in_a_subscript_and_a_keyword(o, n, m):
    i = 0
    k = 0
    t = (4, 5, 6)
    for j in tl.static_range(3):
        tl.store(o + 1, value=(k := k + t[j]))
    for j in range(n):
        tl.store((o + (i := j)) + 2, (t[0] + (k := j)))
    tl.store(o, i + k)


@triton.jit
def walrus_after_and(o, n, m):
    i = 7
    j = 7
    if n > 100 and (i := 1) > 0:
        tl.store(o + 3, 1)
    if n > 0 or (j := 1) > 0:
        tl.store(o + 4, 1)
    tl.store(o, i)
    tl.store(o + 1, j)


@triton.jit
def walrus_in_a_while_condition(o, n, m):
    x = 3
    c = 0
    while (y := c * 2) < n and (x := x + 1) < 100:
        c += 1
    tl.store(o, x)
    tl.store(o + 1, y)
    tl.store(o + 2, c)


@triton.jit
def swapped(o, n, m):
    i, j = 1, 2
    t = (n, m)
    for k in range(n):
        i, j = j, i
        t = (t[1], t[0])
    tl.store(o, i)
    tl.store(o + 1, j + 10 * t[0])


@triton.jit
def chained(o, n, m):
    if 0 < n < 4 <= 4:
        tl.store(o, 1)
    if m < n < 2:
        tl.store(o + 1, 1)
    tl.store(o + 2, (1 if n > m > 0 else 2))


@triton.jit
def a_local_of_a_globals_name(o, n, m):
    np = n
    for pytest in range(m):
        np += pytest
    tl.store(o, np)


class Pointer:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def __add__(self, offset):
        return Pointer(self.data, self.at + offset)


class Language:
    range = static_range = range

    @staticmethod
    def store(pointer, value):
        pointer.data[pointer.at] = value


KERNELS = [value for value in list(globals().values()) if isinstance(value, triton.JITFunction)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("n, m", [(3, 2), (0, 5), (1, 0)])
def test_as_python(kernel, n, m, monkeypatch):
    out, expected = np.full(8, -1, np.int32), np.full(8, -1, np.int32)
    kernel[(1,)](out, n, m)
    monkeypatch.setitem(globals(), "tl", Language)
    kernel.fn(Pointer(expected), n, m)
    np.testing.assert_array_equal(out, expected)


def test_random_programs(engine):
    if engine != "cpu":
        pytest.skip("the script runs the interpreter and compiled code")
    command = [sys.executable, SCRIPT, "--first", "0", "--count", "500", "--seconds", "60", "--cpu-every", "20"]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert result.returncode == 0, result.stdout
    assert "500 programs" in result.stdout, result.stdout
