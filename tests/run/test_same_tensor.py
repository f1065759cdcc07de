"""One tensor through two arguments: all of a program's loads come before its stores, whatever the order of its loops."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def reverse_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + (N - 1 - offsets)))


@triton.jit
def transpose_kernel(x_ptr, out_ptr, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(out_ptr + columns * N + rows, tl.load(x_ptr + rows * N + columns) + 1)


@triton.jit
def add_first_row_kernel(x_ptr, row_ptr, out_ptr, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)
    x = tl.load(x_ptr + rows * N + columns[None, :])
    tl.store(out_ptr + rows * N + columns[None, :], x + tl.load(row_ptr + columns)[None, :])


@pytest.mark.one_thread
@pytest.mark.parametrize("n", [2, 16, 64, 1024])
def test_reverse_in_place(engine, n):
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    out = x.copy()
    reverse_kernel[(1,)](out, out, n)
    assert np.array_equal(out, x[::-1])


@pytest.mark.one_thread
@pytest.mark.parametrize("n", [4, 32])
def test_transpose_in_place(engine, n):
    x = np.random.default_rng(0).standard_normal((n, n)).astype(np.float32)
    out, apart = x.copy(), np.zeros_like(x)
    transpose_kernel[(1,)](out, out, n)
    assert np.array_equal(out, x.T + 1)
    transpose_kernel[(1,)](x, apart, n)
    assert np.array_equal(apart, x.T + 1)


@pytest.mark.one_thread
@pytest.mark.parametrize("n", [4, 32])
def test_row_of_the_result(engine, n):
    x = np.random.default_rng(0).standard_normal((n, n)).astype(np.float32)
    out = x.copy()
    add_first_row_kernel[(1,)](out, out, out, n)
    assert np.array_equal(out, x + x[0])
