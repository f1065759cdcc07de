"""One kernel is launched with rows of many lengths in turn: the code that a version leaves out is beyond the longest row for which it runs."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import close, random, wide

# Lengths that differ by an eighth of the block have different versions; the order matters, because the first launch decides which version is compiled first.
LENGTHS = [256, 161, 160, 129, 192, 193, 224, 225, 1, 0, 256, 160, 177]


@triton.jit
def norm_kernel(x_ptr, weight_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    centred = tl.where(mask, x - tl.sum(x, axis=0) / n, 0.0)
    weight = tl.load(weight_ptr + columns, mask=mask, other=1.0).to(tl.float32)
    tl.store(y_ptr + row * n + columns, (centred * weight + tl.sum(centred * centred, axis=0)).to(y_ptr.dtype.element_ty), mask=mask)


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("lengths", [LENGTHS, LENGTHS[::-1]], ids=["long first", "short first"])
def test_rows_of_many_lengths(dtype, lengths):
    for n in lengths:
        x, weight = random((3, n), dtype, n), random((max(n, 1),), dtype, n + 1)
        y = np.full(3 * n + 300, 7, x.dtype)
        norm_kernel[(3,)](x, weight, y, n, BLOCK=256, num_warps=1)
        centred = wide(x) - wide(x).mean(1, keepdims=True) if n else wide(x)
        close(y[:3 * n].reshape(3, n), centred * wide(weight)[:n] + (centred**2).sum(1, keepdims=True), dtype, terms=n + 1)
        np.testing.assert_array_equal(y[3 * n:], 7)


@triton.jit
def rows_kernel(x_ptr, y_ptr, m, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    x = tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=mask, other=-2.0)
    x = x - tl.max(x, axis=1)[:, None]
    tl.store(y_ptr + rows[:, None] * n + columns[None, :], x + tl.sum(x, axis=1)[:, None], mask=mask)


def test_several_rows_at_once():
    for n in LENGTHS:
        x, y = random((5, n), "fp32", n), np.full(8 * n + 300, 7, np.float32)
        rows_kernel[(1,)](x, y, 5, n, ROWS=8, BLOCK=256, num_warps=1)
        filled = np.concatenate([wide(x), np.full((5, 256 - n), -2.0)], 1)
        filled -= filled.max(1, keepdims=True)
        close(y[:5 * n].reshape(5, n), filled[:, :n] + filled.sum(1, keepdims=True), "fp32", terms=256)
        np.testing.assert_array_equal(y[5 * n:], 7)


@triton.jit
def kept_kernel(x_ptr, y_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    mask = columns < n
    x = tl.load(x_ptr + row * n + columns, mask=mask, other=0.0).to(tl.float32)
    e = tl.exp(x)  # first needed by the sum of a product of it; one beyond the row
    squares = tl.sum(tl.where(mask, e * e * x, 0.0), axis=0)
    tl.store(sums_ptr + row, tl.sum(e, axis=0) + squares)
    tl.store(y_ptr + row * BLOCK + columns, e + squares)  # all of it, beyond the row as well


@pytest.mark.parametrize("block", [256, 1024])
def test_tiles_kept_by_dot_sums(block):
    for n in [length * block // 256 for length in LENGTHS]:
        x, y, sums = random((3, n), "fp32", n), np.full((3, block), 7, np.float32), np.zeros(3, np.float32)
        kept_kernel[(3,)](x, y, sums, n, BLOCK=block, num_warps=1)
        e = np.exp(wide(x))
        squares = (e * e * wide(x)).sum(1, keepdims=True)
        close(sums, (e.sum(1, keepdims=True) + squares + block - n)[:, 0], "fp32", terms=4 * block)
        close(y, np.concatenate([e, np.ones((3, block - n))], 1) + squares, "fp32", terms=4 * block)


@triton.jit
def kept_tile_kernel(x_ptr, y_ptr, sums_ptr, m, n, SIZE: tl.constexpr, AXIS: tl.constexpr, TRANSPOSED: tl.constexpr):
    rows, columns = tl.arange(0, SIZE), tl.arange(0, SIZE)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    e = tl.exp(tl.load(x_ptr + rows[:, None] * n + columns[None, :], mask=mask, other=0.0))
    product = e * tl.trans(e) if TRANSPOSED else e * e
    sums = tl.sum(product, axis=AXIS)
    tl.store(sums_ptr + rows, sums)
    places = rows[:, None] * SIZE + columns[None, :]
    tl.store(y_ptr + places, e + sums[:, None])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_tiles_of_several_rows_kept_by_dot_sums(axis, transposed):
    for m, n in [(64, 64), (5, 64), (64, 7), (33, 18), (0, 0)]:
        x, y, sums = random((m, n), "fp32", m + n), np.full((64, 64), 7, np.float32), np.zeros(64, np.float32)
        kept_tile_kernel[(1,)](x, y, sums, m, n, SIZE=64, AXIS=axis, TRANSPOSED=transposed, num_warps=1)
        e = np.ones((64, 64))
        e[:m, :n] = np.exp(wide(x))
        expected = (e * e.T if transposed else e * e).sum(axis)
        close(sums, expected, "fp32", terms=64)
        close(y, e + expected[:, None], "fp32", terms=64)
