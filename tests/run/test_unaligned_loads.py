"""Products of rows that start at any address, with NaN (large numbers for integers) in the memory around them."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def product(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
            MASKED: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        a_ptrs = a + rows[:, None] * stride_am + ks[None, :] * stride_ak
        b_ptrs = b + ks[:, None] * stride_bk + columns[None, :] * stride_bn
        if MASKED:
            x = tl.load(a_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < K), other=0)
            y = tl.load(b_ptrs, mask=(ks[:, None] < K) & (columns[None, :] < N), other=0)
        else:
            x = tl.load(a_ptrs)
            y = tl.load(b_ptrs)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows[:, None] < M) & (columns[None, :] < N))


def inside(rng, rows, columns, dtype, front, stride):
    """A matrix in a larger array: its rows have a stride of `stride` elements, it begins `front` elements from the array's start, and ends with it."""
    around = np.full(front + (rows - 1) * stride + columns, 127 if dtype == np.int8 else np.nan, dtype)
    view = np.lib.stride_tricks.as_strided(around[front:], (rows, columns), (stride * around.itemsize, around.itemsize))
    view[:] = rng.integers(-3, 4, (rows, columns))
    return view


def check(rng, a, b, block, warps, masked):
    (M, K), N = a.shape, b.shape[1]
    c = np.zeros((M, N), np.int32 if a.dtype == np.int8 else np.float32)
    strides = lambda matrix: [stride // matrix.itemsize for stride in matrix.strides]
    block_m, block_n, block_k = block
    product[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        a, b, c, M, N, K, *strides(a), *strides(b), BLOCK_M=block_m, BLOCK_N=block_n, BLOCK_K=block_k, MASKED=masked, num_warps=warps,
        num_stages=3)
    assert np.array_equal(c, a.astype(c.dtype) @ b.astype(c.dtype))


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
@pytest.mark.parametrize("front, padding", [(0, 0), (1, 0), (3, 5), (7, 1)])
@pytest.mark.parametrize("M, N, K", [(33, 35, 67), (65, 129, 31), (1, 63, 1)])
def test_masked(dtype, front, padding, M, N, K):
    rng = np.random.default_rng(M + N + K + front)
    a, b = inside(rng, M, K, dtype, front, K + padding), inside(rng, K, N, dtype, front, N + padding)
    check(rng, a, b, (64, 64, 32), 4, True)


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
@pytest.mark.parametrize("front, stride", [(1, 65), (0, 67)])
def test_without_masks(dtype, front, stride):
    rng = np.random.default_rng(stride)
    a, b = inside(rng, 64, 64, dtype, front, stride), inside(rng, 64, 64, dtype, front, stride)
    check(rng, a, b, (64, 64, 32), 4, False)


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
def test_columns_of_both(dtype):
    rng = np.random.default_rng(5)
    a, b = inside(rng, 67, 33, dtype, 1, 35).T, inside(rng, 35, 67, dtype, 0, 67).T
    check(rng, a, b, (64, 64, 32), 4, True)


@pytest.mark.parametrize("dtype, block, warps", [(np.float16, (128, 128, 64), 8), (np.float16, (64, 32, 16), 4), (np.float16, (16, 16, 16), 1),
                                                 (np.float16, (32, 64, 128), 2), (np.int8, (16, 16, 32), 8), (np.int8, (16, 16, 32), 4)])
def test_other_tiles(dtype, block, warps):
    rng = np.random.default_rng(9)
    a, b = inside(rng, 41, 77, dtype, 1, 79), inside(rng, 77, 43, dtype, 0, 43)
    check(rng, a, b, block, warps, True)
