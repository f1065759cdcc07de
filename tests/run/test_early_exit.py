"""break, continue and return in loops that allow them by early_exit=True: Python runs the same function for comparison."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.errors import CompilationError


@triton.jit
def search_kernel(x_ptr, out_ptr, n, wanted, START: tl.constexpr, STEP: tl.constexpr):
    found = -1
    odd = 0
    for i in tl.range(START, n, STEP, early_exit=True):
        x = tl.load(x_ptr + i)
        if x == wanted:
            found = i
            break
        if x % 2 == 0:
            continue
        odd += x
    tl.store(out_ptr, found)
    tl.store(out_ptr + 1, odd)


def searched(x, n, wanted, start, step):
    found, odd = -1, 0
    for i in range(start, n, step):
        if x[i] == wanted:
            found = i
            break
        if x[i] % 2 == 0:
            continue
        odd += x[i]
    return [found, odd]


@pytest.mark.parametrize("wanted", [3, 17, 99])
@pytest.mark.parametrize("start, end, step", [(0, 32, 1), (31, -1, -3), (5, 5, 1)])
def test_for(wanted, start, end, step):
    x = np.random.default_rng(0).integers(0, 20, 32).astype(np.int32)
    out = np.zeros(2, np.int32)
    search_kernel[(1, )](x, out, end, wanted, start, step)
    np.testing.assert_array_equal(out, searched(x, end, wanted, start, step))


@triton.jit
def pairs_kernel(x_ptr, out_ptr, n, limit):
    pairs = 0
    i = 0
    while tl.condition(i < n, early_exit=True):
        i += 1
        a = tl.load(x_ptr + i - 1)
        if a < 0:
            continue
        for j in tl.range(0, n, early_exit=True):
            b = tl.load(x_ptr + j)
            if b == 0:
                break
            if a + b > limit:
                tl.store(out_ptr + 1, 100 * i + j)
                return
            pairs += 1
        else_ = pairs * 2
        pairs = else_ // 2
    tl.store(out_ptr, pairs)


def paired(x, n, limit):
    out, pairs, i = [0, 0], 0, 0
    while i < n:
        i += 1
        if x[i - 1] < 0:
            continue
        for j in range(n):
            if x[j] == 0:
                break
            if x[i - 1] + x[j] > limit:
                out[1] = 100 * i + j
                return out
            pairs += 1
    out[0] = pairs
    return out


@pytest.mark.parametrize("limit", [2, 7, 100])
def test_loops_in_loops_and_return(limit):
    x = np.array([1, -1, 3, 4, -5, 2, 0, 9], np.int32)
    out = np.zeros(2, np.int32)
    pairs_kernel[(1, )](x, out, 8, limit)
    np.testing.assert_array_equal(out, paired(x, 8, limit))


@triton.jit
def tile_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for i in tl.range(0, n, early_exit=True):
        x = tl.load(x_ptr + i * BLOCK + tl.arange(0, BLOCK))
        if tl.sum(x) < 0:
            break
        total += x
    tl.store(out_ptr + tl.arange(0, BLOCK), total)


def test_tiles_are_carried():
    x = np.ones((8, 32), np.float32)
    x[5] = -1
    out = np.zeros(32, np.float32)
    tile_kernel[(1, )](x, out, 8, 32)
    assert (out == 5).all()


def walked(n, m, wanted, kind):
    """The loops of the kernels below."""
    out, seen = [], 0
    for i in range(n):
        for j in range(m):
            seen += 1
            if j == wanted + (i if kind != "static" else 0):
                break
            if j % 2 == 1:
                continue
            seen += 10
            for _ in range(2):
                seen += 100
        out.append(seen)
    return out + [0] * (4 - n)


@triton.jit
def inner_loop(out_ptr, i, m, wanted, seen):
    for j in tl.range(0, m, early_exit=True):
        seen += 1
        if j == wanted:
            break
        if j % 2 == 1:
            continue
        seen += 10
        for _ in range(2):
            seen += 100
    tl.store(out_ptr + i, seen)
    return seen


@triton.jit
def in_for_kernel(out_ptr, n, m, wanted):
    seen = 0
    for i in range(n):
        for j in tl.range(0, m, early_exit=True):
            seen += 1
            if j == wanted + i:
                break
            if j % 2 == 1:
                continue
            seen += 10
            for _ in range(2):
                seen += 100
        tl.store(out_ptr + i, seen)


@triton.jit
def in_while_kernel(out_ptr, n, m, wanted):
    seen, i = 0, 0
    while i < n:
        j = 0
        while tl.condition(j < m, early_exit=True):
            seen += 1
            if j == wanted + i:
                break
            j += 1
            if j % 2 == 0:
                continue
            seen += 10
            for _ in tl.static_range(2):
                seen += 100
        tl.store(out_ptr + i, seen)
        i += 1


@triton.jit
def in_static_kernel(out_ptr, n: tl.constexpr, m, wanted):
    seen = 0
    for i in tl.static_range(n):
        for j in tl.range(0, m, early_exit=True):
            seen += 1
            if j == wanted:
                break
            if j % 2 == 1:
                continue
            seen += 10
            for _ in range(2):
                seen += 100
        tl.store(out_ptr + i, seen)


@triton.jit
def in_call_kernel(out_ptr, n, m, wanted):
    seen = 0
    for i in range(n):
        seen = inner_loop(out_ptr, i, m, wanted + i, seen)


@pytest.mark.parametrize("wanted", [0, 2, 9])
@pytest.mark.parametrize("kernel, kind", [(in_for_kernel, "for"), (in_while_kernel, "while"), (in_static_kernel, "static"), (in_call_kernel, "call")])
def test_inside_plain_loops(kernel, kind, wanted):
    for n, m in ((3, 5), (4, 0), (0, 5), (1, 1)):
        out = np.zeros(4, np.int32)
        kernel[(1, )](out, n, m, wanted)
        np.testing.assert_array_equal(out, walked(n, m, wanted, kind))


@triton.jit
def sandwich_kernel(out_ptr, n, wanted):
    seen = 0
    for i in tl.range(0, n, early_exit=True):
        if i == 3:
            continue
        for _ in range(2):
            for k in tl.range(0, n, early_exit=True):
                if k == wanted:
                    break
                seen += 1
        if seen > 5 * wanted:
            break
    tl.store(out_ptr, seen)


@pytest.mark.parametrize("wanted", [0, 1, 4, 20])
def test_a_plain_loop_between(wanted):
    expected = 0
    for i in range(6):
        if i == 3:
            continue
        expected += 2 * min(wanted, 6)
        if expected > 5 * wanted:
            break
    out = np.zeros(1, np.int32)
    sandwich_kernel[(1, )](out, 6, wanted)
    assert out[0] == expected


@triton.jit
def return_in_plain_kernel(out_ptr, n):
    for i in range(n):
        for j in tl.range(0, n, early_exit=True):
            if j == 3:
                return
    tl.store(out_ptr, n)


@triton.jit
def break_in_inner_plain_kernel(out_ptr, n):
    for i in tl.range(0, n, early_exit=True):
        for j in range(n):
            if j == 3:
                break
    tl.store(out_ptr, n)


@triton.jit
def value_kernel(out_ptr, n):
    for i in tl.range(0, n, early_exit=True):
        if i == 3:
            return i
    tl.store(out_ptr, n)


@triton.jit
def plain_kernel(out_ptr, n):
    for i in range(n):
        if i == 3:
            break
    tl.store(out_ptr, n)


@pytest.mark.parametrize("kernel, words", [(value_kernel, "'return' of a value from inside a loop"), (plain_kernel, "'break' is not supported in a loop"),
                                           (return_in_plain_kernel, "Cannot have `return` statements inside"),
                                           (break_in_inner_plain_kernel, "'break' is not supported in a loop")])
def test_what_is_refused(kernel, words):
    with pytest.raises(CompilationError, match=words):
        kernel[(1, )](np.zeros(1, np.int32), 5)
