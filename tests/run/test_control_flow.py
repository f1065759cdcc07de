"""Loops, branches, calls and early returns; what is carried from one turn of a loop to the next."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@triton.jit
def loop_kernel(x_ptr, out_ptr, n, step, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    count = 0
    x_ptrs = x_ptr + offsets
    for i in range(0, n, step):
        total += tl.load(x_ptrs)
        x_ptrs += BLOCK * step
        count += 1
    tl.store(out_ptr + offsets, total + count)


@pytest.mark.parametrize("n, step", [(0, 1), (1, 1), (5, 1), (7, 3), (8, 2)])
def test_for_with_bounds_known_at_run_time(n, step):
    x = random((16, 64), "fp32", 1)
    out = np.zeros(64, np.float32)
    loop_kernel[(1,)](x, out, n, step, BLOCK=64)
    expected = np.zeros(64, np.float32)
    turns = range(0, n, step)
    for i in turns:
        expected += x[i]
    np.testing.assert_array_equal(out, expected + np.float32(len(turns)))


@triton.jit
def collatz_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    steps = 0
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(out_ptr + tl.program_id(0), steps)


def test_while_and_if():
    x = np.arange(1, 40, dtype=np.int32)
    out = np.zeros_like(x)
    collatz_kernel[(x.size,)](x, out)

    def steps(value):
        return 0 if value == 1 else 1 + steps(value // 2 if value % 2 == 0 else 3 * value + 1)

    np.testing.assert_array_equal(out, [steps(int(value)) for value in x])


@triton.jit
def nested_kernel(out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.int32)
    for i in range(n):
        for j in range(i, n):
            if (i + j) % 3 == 0:
                acc += offsets * i
            elif j % 2 == 1:
                acc -= j
    tl.store(out_ptr + offsets, acc)


def test_nested_loops_with_branches():
    out = np.zeros(32, np.int32)
    nested_kernel[(1,)](out, 9, BLOCK=32)
    offsets, expected = np.arange(32), np.zeros(32, np.int64)
    for i in range(9):
        for j in range(i, 9):
            expected += offsets * i if (i + j) % 3 == 0 else -j if j % 2 == 1 else 0
    np.testing.assert_array_equal(out, expected)


@triton.jit
def unrolled_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, TIMES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + offsets)
    for i in tl.static_range(TIMES):
        if i % 2 == 0:
            y = y * 2
        else:
            y = y + i
    for i in tl.range(3, 0, -1):
        y = y - i
    tl.store(out_ptr + offsets, y)


def test_static_range_and_a_negative_step():
    x = random(64, "int32", 1, -100, 100)
    out = np.zeros_like(x)
    unrolled_kernel[(1,)](x, out, BLOCK=64, TIMES=5)
    expected = x.copy()
    for i in range(5):
        expected = expected * 2 if i % 2 == 0 else expected + i
    np.testing.assert_array_equal(out, expected - 6)


@triton.jit
def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@triton.jit
def early_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out_ptr + pid, sign(tl.load(x_ptr + pid)))


def test_early_return():
    x = np.array([5, -3, 0, 7, -1], np.int32)
    out = np.full(5, 9, np.int32)
    early_kernel[(5,)](x, out, 3)
    np.testing.assert_array_equal(out, [1, -1, 0, 9, 9])


@triton.jit
def fibonacci_kernel(out_ptr, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    tl.store(out_ptr, a)


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_carried_values_that_trade_places(n):
    out = np.zeros(1, np.int32)
    fibonacci_kernel[(1,)](out, n)
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    assert out[0] == a


@triton.jit
def shift_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    before = tl.zeros((BLOCK,), tl.float32)
    now = tl.load(x_ptr + offsets)
    for i in range(1, n):
        after = tl.load(x_ptr + i * BLOCK + offsets)
        tl.store(out_ptr + (i - 1) * BLOCK + offsets, before + now + after)
        before = now
        now = after
    tl.store(out_ptr + (n - 1) * BLOCK + offsets, before + now)


def test_tiles_handed_on():
    x = random((6, 64), "fp32", 1)
    out = np.zeros_like(x)
    shift_kernel[(1,)](x, out, 6, BLOCK=64)
    expected = x.copy()
    zero = np.zeros((1, 64), np.float32)
    expected = (np.concatenate([zero, x[:-1]]) + x) + np.concatenate([x[1:], zero])
    np.testing.assert_array_equal(out, expected)


@triton.jit
def choose_kernel(x_ptr, out_ptr, flag, MODE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = x * 2 if MODE == "double" else x
    if flag:
        z = y + 1
    else:
        z = y - 1
    tl.store(out_ptr + offsets, z)


@pytest.mark.parametrize("mode", ["double", "keep"])
@pytest.mark.parametrize("flag", [True, False])
def test_a_constant_and_a_run_time_branch(mode, flag):
    x = random(32, "int32", 1, -100, 100)
    out = np.zeros_like(x)
    choose_kernel[(1,)](x, out, flag, MODE=mode, BLOCK=32)
    np.testing.assert_array_equal(out, x * (2 if mode == "double" else 1) + (1 if flag else -1))
