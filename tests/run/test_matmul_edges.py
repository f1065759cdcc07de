"""Products whose sizes are not multiples of the block: only elements that are stored are computed, and those masked along k add nothing."""

import ctypes
import mmap

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, random


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, scale, WRAP: tl.constexpr, AFTER: tl.constexpr, OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    from_rows, from_columns = (rows % M, columns % N) if WRAP else (rows, columns)
    acc = tl.zeros((BM, BN), OUT)
    for step in range(0, tl.cdiv(K, BK)):
        left = (K - step * BK > k)[None, :]
        right = (k < K - step * BK)[:, None]
        if not WRAP:
            left, right = left & (rows < M)[:, None], right & (columns < N)[None, :]
        a = tl.load(a_ptr + from_rows[:, None] * K + (step * BK + k)[None, :], mask=left, other=0)
        b = tl.load(b_ptr + (step * BK + k)[:, None] * N + from_columns[None, :], mask=right, other=0)
        acc = tl.dot(a, b, acc, out_dtype=OUT)
    acc = acc * scale
    if AFTER:  # the mask is made of values that are computed after the loop
        rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int8"])
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (33, 16, 32), (32, 65, 33), (17, 31, 50), (64, 33, 15), (47, 64, 96)])
def test_edges(m, n, k, dtype, wrap):
    a, b = random((m, k), dtype, 1), random((k, n), dtype, 2)
    out = "int32" if dtype == "int8" else "fp32"
    c = np.full((m + 1, n), 7, DTYPES[out])  # a row that the kernel must not write
    matmul_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        a, b, c, m, n, k, 2, WRAP=wrap, AFTER=wrap, OUT=tl.int32 if dtype == "int8" else tl.float32, BM=32, BN=32, BK=32)
    wide = np.int64 if dtype == "int8" else np.float64
    np.testing.assert_allclose(c[:m], 2 * (a.astype(wide) @ b.astype(wide)), rtol=2e-3, atol=2e-3 * k)
    assert (c[m] == 7).all()


def test_infinities_stay_in_their_rows_and_columns():
    m, n, k = 33, 35, 40
    a, b = random((m, k), "fp32", 1), random((k, n), "fp32", 2)
    a[32, 39], b[39, 34] = np.inf, np.nan
    c = np.zeros((m, n), np.float32)
    matmul_kernel[(2, 2)](a, b, c, m, n, k, 1, WRAP=False, AFTER=False, OUT=tl.float32, BM=32, BN=32, BK=32)
    assert np.isfinite(c[:32, :34]).all() and np.isnan(c[:, 34]).all() and not np.isfinite(c[32]).any()


@triton.jit
def looked_at_kernel(a_ptr, c_ptr, sums_ptr, M, B: tl.constexpr):
    """The whole product is used, although only a part of it is stored."""
    i = tl.arange(0, B)
    a = tl.load(a_ptr + i[:, None] * B + i[None, :])
    c = tl.dot(a, a, input_precision="ieee")
    tl.store(c_ptr + i[:, None] * B + i[None, :], c, mask=(i < M)[:, None] & (i < M)[None, :])
    tl.store(sums_ptr + i, tl.sum(c, axis=1))


def test_what_is_reduced_is_computed_whole():
    a, c, sums = random((32, 32), "fp32", 1), np.zeros((32, 32), np.float32), np.zeros(32, np.float32)
    looked_at_kernel[(1,)](a, c, sums, 3, B=32)
    exact = a.astype(np.float64) @ a
    np.testing.assert_allclose(sums, exact.sum(axis=1), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(c[:3, :3], exact[:3, :3], rtol=1e-4, atol=1e-4)
    assert (c[3:] == 0).all()


@triton.jit
def strided_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + (rows % M)[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b_ptr + k[:, None] * stride_bk + (columns % N)[None, :] * stride_bn
    acc = tl.zeros((BM, BN), OUT)
    for step in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=(k < K - step * BK)[None, :], other=0)
        b = tl.load(b_ptrs, mask=(k < K - step * BK)[:, None], other=0)
        acc = tl.dot(a, b, acc, out_dtype=OUT, input_precision="ieee")
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@pytest.mark.parametrize("a_columns, b_columns", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int8"])
@pytest.mark.parametrize("m, n, k", [(1, 70, 50), (70, 1, 50), (33, 33, 64), (1, 1, 40), (1, 32, 32)])
def test_matrix_and_vector(m, n, k, dtype, a_columns, b_columns):
    """The product, or its last tiles, have only one row or one column."""
    a, b = random((m, k), dtype, 1), random((k, n), dtype, 2)
    if a_columns:
        a = np.ascontiguousarray(a.T).T
    if b_columns:
        b = np.ascontiguousarray(b.T).T
    out = "int32" if dtype == "int8" else "fp32"
    c = np.full((m + 1, n), 7, DTYPES[out])
    strides = [step // array.itemsize for array in (a, b) for step in array.strides]
    strided_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        a, b, c, m, n, k, *strides, OUT=tl.int32 if dtype == "int8" else tl.float32, BM=32, BN=32, BK=32)
    wide = np.int64 if dtype == "int8" else np.float64
    np.testing.assert_allclose(c[:m], a.astype(wide) @ b.astype(wide), rtol=2e-3, atol=2e-3 * k)
    assert (c[m] == 7).all()


@pytest.mark.parametrize("sizes", [[64, 33, 34, 65, 1, 64, 33], [33, 65, 64, 1, 33]])
def test_successive_sizes_that_leave_one_row_or_column(sizes):
    """Code for a single row is in a separate version. Launches that leave a single row share it, and others run without it."""
    for m in sizes:
        for n in (32, m):
            a, b, c = random((m, 40), "fp32", m), random((40, n), "fp32", n), np.full((m + 1, n), 7, np.float32)
            strided_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, c, m, n, 40, 40, 1, n, 1, OUT=tl.float32, BM=32, BN=32, BK=32)
            np.testing.assert_allclose(c[:m], a.astype(np.float64) @ b, rtol=1e-3, atol=1e-3)
            assert (c[m] == 7).all()


def at_the_end_of_memory(rows, columns, dtype, seed):
    """A matrix in a wider one that is filled with NaN (or ones); its last element is the last one of its page, and the next page is not accessible."""
    element, page = np.dtype(DTYPES[dtype]), mmap.PAGESIZE
    stride = columns + 5
    bytes_needed = (rows * stride - 5) * element.itemsize
    length = -(-bytes_needed // page) * page
    memory = mmap.mmap(-1, length + page)
    address = np.frombuffer(memory, np.uint8).ctypes.data
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + length), page, 0) == 0
    whole = np.frombuffer(memory, element, bytes_needed // element.itemsize, length - bytes_needed)
    whole[...] = 1 if dtype == "int8" else np.nan
    matrix = np.lib.stride_tricks.as_strided(whole, (rows, columns), (stride * element.itemsize, element.itemsize))
    matrix[...] = random((rows, columns), dtype, seed)
    return matrix


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("m, n, k", [(32, 32, 32), (64, 40, 64), (48, 33, 40), (40, 64, 56), (104, 16, 72), (33, 65, 41), (70, 5, 104), (64, 17, 65), (65, 65, 65), (25, 66, 65), (81, 49, 67)])
def test_rows_in_memory_are_read_up_to_their_end(m, n, k, dtype):
    a, b = at_the_end_of_memory(m, k, dtype, 1), random((k, n), dtype, 2)
    out = "int32" if dtype == "int8" else "fp32"
    c = np.full((m, n), 7, DTYPES[out])
    for block in (32, 128):
        strided_kernel[(triton.cdiv(m, block), triton.cdiv(n, block))](
            a, b, c, m, n, k, a.strides[0] // a.itemsize, 1, n, 1, OUT=tl.int32 if dtype == "int8" else tl.float32, BM=block, BN=block, BK=32)
        wide = np.int64 if dtype == "int8" else np.float64
        np.testing.assert_allclose(c, a.astype(wide) @ b.astype(wide), rtol=2e-3, atol=2e-3 * k)
