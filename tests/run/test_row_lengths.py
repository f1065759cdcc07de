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
