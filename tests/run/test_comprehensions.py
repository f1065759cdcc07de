"""Comprehensions of constants and of tiles: Python computes the expected values."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.errors import CompilationError


@triton.jit
def constants_kernel(out_ptr):
    pairs: tl.constexpr = [a + b for a, b in ((1, 2), (2, 2))]
    lengths: tl.constexpr = [(n, n * m) for n, (m, _) in ((4, (2, 7)), (8, (1, 7))) if n > 4]
    table: tl.constexpr = [10 * a + b for a in (1, 2, 3) for b in (a, 5) if a + b != 6 if b > 1]
    nested: tl.constexpr = [[a * b for b in (1, 2)] for a in (3, 4)]
    tl.static_assert(pairs == (3, 4))
    tl.static_assert(lengths == ((8, 8),))
    tl.static_assert(table == (22, 25, 35))
    tl.static_assert(nested == ((3, 6), (4, 8)))
    tl.store(out_ptr + tl.arange(0, pairs[1]), 5)
    tl.store(out_ptr + 4 + tl.arange(0, lengths[0][0]), table[2])


def test_constants():
    table = [10 * a + b for a in (1, 2, 3) for b in (a, 5) if a + b != 6 if b > 1]
    assert table == [22, 25, 35]
    out = np.zeros(16, np.int32)
    constants_kernel[(1, )](out)
    np.testing.assert_array_equal(out, [5] * 4 + [35] * 8 + [0] * 4)


@triton.jit
def tiles_kernel(x_ptr, out_ptr, B: tl.constexpr):
    at = tl.arange(0, B)
    a = 7
    rows = [tl.load(x_ptr + row * B + at) * factor for row, factor in ((0, 2), (1, 3))]
    mixed = [x + factor for x in rows for factor in (1, 10)]
    total = tl.zeros((B,), tl.int32)
    for i in tl.static_range(len(mixed)):
        total += mixed[i]
    tl.store(out_ptr + at, total + a)


def test_tiles():
    x = np.arange(32, dtype=np.int32).reshape(2, 16)
    out = np.zeros(16, np.int32)
    tiles_kernel[(1, )](x, out, 16)
    np.testing.assert_array_equal(out, 2 * (2 * x[0] + 3 * x[1]) + 22 + 7)


@triton.jit
def too_few_kernel(out_ptr):
    v: tl.constexpr = [a for a, b in ((1, 2, 3), (4, 5, 6))]
    tl.store(out_ptr, v[0])


@triton.jit
def unknown_filter_kernel(out_ptr):
    n = tl.load(out_ptr)
    v = [a for a in (1, 2) if n > a]
    tl.store(out_ptr, v[0])


@pytest.mark.parametrize("kernel, words", [(too_few_kernel, "2"), (unknown_filter_kernel, "the condition of a comprehension")])
def test_what_is_refused(kernel, words):
    with pytest.raises(CompilationError, match=words):
        kernel[(1, )](np.zeros(1, np.int32))
