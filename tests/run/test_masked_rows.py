"""Rows that are shorter than their block: all elements beyond the mask are the same number, and each of them counts."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import ON_GPU

LENGTHS = [0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 257, 511, 512]
BLOCK = 512


def row(n, seed=1):
    return np.random.default_rng(seed).standard_normal(max(n, 1)).astype(np.float32)


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, fill, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=fill), axis=0))


@pytest.mark.parametrize("fill", [0.0, -0.0, 1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("n", LENGTHS)
def test_sum_counts_each_filled_element(n, fill):
    x, out = row(n), np.zeros(1, np.float32)
    sum_kernel[(1,)](x, out, n, fill, BLOCK=BLOCK)
    filled = np.concatenate([x[:n], np.full(BLOCK - n, fill, np.float32)])
    np.testing.assert_allclose(out[0], filled.astype(np.float64).sum(), rtol=1e-5, atol=1e-5)


@triton.jit
def extremes_kernel(x_ptr, out_ptr, n, fill, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=fill)
    tl.store(out_ptr, tl.max(x, axis=0))
    tl.store(out_ptr + 1, tl.min(x, axis=0))


@pytest.mark.parametrize("fill", [0.0, 9.0, -9.0, float("-inf"), float("nan")])
@pytest.mark.parametrize("n", LENGTHS)
def test_extremes_see_what_is_filled_in(n, fill):
    x, out = row(n), np.zeros(2, np.float32)
    extremes_kernel[(1,)](x, out, n, fill, BLOCK=BLOCK)
    filled = np.concatenate([x[:n], np.full(BLOCK - n, fill, np.float32)])
    np.testing.assert_array_equal(out, [np.fmax.reduce(filled), np.fmin.reduce(filled)])


@triton.jit
def shifted_kernel(x_ptr, out_ptr, whole_ptr, n, shift, BLOCK: tl.constexpr):
    """Two masks of different lengths, and a tile that is stored on the way and also used as a whole."""
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=float("-inf"))
    y = tl.load(x_ptr + offsets, mask=offsets < n + shift, other=0.0)
    e = tl.exp(x - tl.max(x, axis=0)) + y * 0.0
    s = tl.sum(e, axis=0)
    tl.store(out_ptr, s)
    tl.store(whole_ptr + offsets, e / s)


@pytest.mark.parametrize("shift", [0, -8, 40, 200])
@pytest.mark.parametrize("n", [16, 65, 200, 257])
def test_what_is_stored_on_the_way_is_whole(n, shift):
    x, out, whole = row(BLOCK), np.zeros(1, np.float32), np.full(BLOCK, np.nan, np.float32)
    shifted_kernel[(1,)](x, out, whole, n, shift, BLOCK=BLOCK)
    e = np.where(np.arange(BLOCK) < n, np.exp(x - x[:n].max(), dtype=np.float64), 0)
    np.testing.assert_allclose(out[0], e.sum(), rtol=1e-5)
    np.testing.assert_allclose(whole, e / e.sum(), rtol=1e-5, atol=1e-9)


@triton.jit
def index_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """The elements beyond the mask differ, because their index is added."""
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr, tl.sum(x * 0.0 + offsets, axis=0))


@pytest.mark.parametrize("n", [1, 100, 511])
def test_indices_are_not_all_the_same(n):
    out = np.zeros(1, np.float32)
    index_kernel[(1,)](row(n), out, n, BLOCK=BLOCK)
    assert out[0] == BLOCK * (BLOCK - 1) / 2


@triton.jit
def rows_kernel(x_ptr, out_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, BLOCK)[None, :]
    inside = (i < rows) & (j < n)
    x = tl.load(x_ptr + i * n + j, mask=inside, other=float("-inf"))
    e = tl.exp(x - tl.max(x, axis=1)[:, None])
    tl.store(out_ptr + i * n + j, e / tl.sum(e, axis=1)[:, None], mask=inside)


@pytest.mark.parametrize("rows, n", [(8, 512), (5, 257), (8, 65), (1, 1), (7, 100)])
def test_softmax_of_several_rows(rows, n):
    x = np.random.default_rng(2).standard_normal((rows, n)).astype(np.float32)
    out = np.zeros_like(x)
    rows_kernel[(1,)](x, out, rows, n, ROWS=8, BLOCK=BLOCK)
    e = np.exp(x - x.max(axis=1, keepdims=True), dtype=np.float64)
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5)


@triton.jit
def exp_kernel(x_ptr, out_ptr, n, BASE: tl.constexpr, SHIFTED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    if SHIFTED:  # known to be at most 0
        x = x - tl.maximum(x, 0.0)
    tl.store(out_ptr + offsets, tl.exp(x) if BASE == 0 else tl.exp2(x), mask=offsets < n)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("base", [0, 2])
def test_exponentials_that_underflow(base, shifted, engine):
    """Subnormal results and zeros have the error bound of normal ones: two units in the last place, and on GPUs |x| 2^-23 for a difference."""
    x = np.concatenate([np.linspace(-160, -80, 8191), [-np.inf, -87.33655, -103.97, -126, -149, -150]]).astype(np.float32)
    out = np.empty_like(x)
    exp_kernel[(triton.cdiv(len(x), 1024),)](x, out, len(x), BASE=base, SHIFTED=shifted, BLOCK=1024)
    exact = np.exp2(x.astype(np.float64)) if base else np.exp(x.astype(np.float64))
    unit = np.maximum(np.spacing(exact.astype(np.float32)), np.float32(2.0**-149))
    flushed = 2.0**-126 if (base or shifted) and engine in ON_GPU else 0  # on GPUs, subnormal results become zero, as upstream's do
    rounded = np.where(exact > 0, np.abs(x) * 2.0**-23 * exact, 0) if shifted and not base and engine in ON_GPU else 0
    assert (np.abs(out - exact) <= np.maximum(2 * unit + rounded, flushed)).all()


@triton.jit
def stored_kernel(x_ptr, sums_ptr, squares_ptr, n, fill, BLOCK: tl.constexpr):
    """A tile in scratch whose end is filled: one reader takes every element, and another one stops where the mask ends."""
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    centred = tl.where(mask, tl.exp(x), fill)
    tl.store(squares_ptr, tl.sum(centred * centred, axis=0))
    tl.store(sums_ptr + offsets, tl.cumsum(centred, axis=0))


@pytest.mark.parametrize("fill", [0.0, 0.5])
@pytest.mark.parametrize("n", LENGTHS)
def test_the_end_of_a_stored_row_is_there_for_all_readers(n, fill):
    x, sums, squares = row(n), np.zeros(BLOCK, np.float32), np.zeros(1, np.float32)
    stored_kernel[(1,)](x, sums, squares, n, fill, BLOCK=BLOCK)
    filled = np.concatenate([np.exp(x[:n].astype(np.float64)), np.full(BLOCK - n, fill)])
    np.testing.assert_allclose(sums, np.cumsum(filled), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(squares[0], (filled**2).sum(), rtol=1e-4)


@triton.jit
def row_a_program_kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    """Each program reads a row twice, and prefetches the next program's row. After the last program there is none."""
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + tl.program_id(0) * stride + offsets, mask=mask, other=-float("inf"))
    tl.store(out_ptr + tl.program_id(0) * stride + offsets, x - tl.max(x, axis=0), mask=mask)


@pytest.mark.parametrize("rows, columns", [(1, 512), (3, 100), (5, 511)])
def test_a_row_a_program(rows, columns):
    x = np.random.default_rng(3).standard_normal((rows, columns)).astype(np.float32)
    out = np.zeros_like(x)
    row_a_program_kernel[(rows,)](x, out, columns, columns, BLOCK=BLOCK)
    np.testing.assert_array_equal(out, x - x.max(1, keepdims=True))
