"""Rows of a tensor by their numbers: the gather and scatter functions of tensor descriptors."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, random


@triton.jit
def gather_kernel(out_ptr, in_ptr, rows_ptr, column, M, N, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.load(rows_ptr + tl.arange(0, ROWS))
    source = tl.make_tensor_descriptor(in_ptr, [M, N], [N, 1], [1, WIDTH])
    tile = source.gather(rows, column)
    tl.store(out_ptr + tl.arange(0, ROWS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :], tile)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8"])
@pytest.mark.parametrize("row_type", ["int32", "int16"])
@pytest.mark.parametrize("column", [0, 32, 48])
def test_gather(dtype, row_type, column):
    M, N, ROWS, WIDTH = 40, 64, 16, 32
    source = random((M, N), dtype)
    rows = random(ROWS, row_type, seed=1, low=0, high=M + 8)  # some rows are outside the tensor, and so are the last columns
    out = np.ones((ROWS, WIDTH), DTYPES[dtype])
    gather_kernel[(1, )](out, source, rows, column, M, N, ROWS, WIDTH)
    padded = np.zeros((M + 8, N + WIDTH), DTYPES[dtype])
    padded[:M, :N] = source
    np.testing.assert_array_equal(out, padded[rows][:, column:column + WIDTH])


@triton.jit
def scatter_kernel(out_ptr, in_ptr, rows_ptr, column, M, N, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.load(rows_ptr + tl.arange(0, ROWS))
    tile = tl.load(in_ptr + tl.arange(0, ROWS)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :])
    target = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [1, WIDTH])
    target.scatter(tile, rows, column)


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
@pytest.mark.parametrize("column", [0, 48])
def test_scatter(dtype, column):
    M, N, ROWS, WIDTH = 40, 64, 16, 32
    tile = random((ROWS, WIDTH), dtype)
    rows = np.random.default_rng(2).permutation(M + 8)[:ROWS].astype(np.int32)
    out = np.zeros((M, N), DTYPES[dtype])
    scatter_kernel[(1, )](out, tile, rows, column, M, N, ROWS, WIDTH)
    expected = np.zeros((M + 8, N + WIDTH), DTYPES[dtype])
    expected[rows, column:column + WIDTH] = tile
    np.testing.assert_array_equal(out, expected[:M, :N])
