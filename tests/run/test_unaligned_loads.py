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


@triton.jit
def narrow_indices(x, w, out, start, stride, FIRST: tl.constexpr, INDEX: tl.constexpr, STEPS: tl.constexpr):
    m, n, i = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 256)
    columns = ((i + FIRST).to(INDEX) if STEPS == 0 else i.to(INDEX) + STEPS).to(tl.int32)
    total = tl.zeros((64, 64), tl.float32)
    for k in range(2):
        a = tl.load(x + start + k * 256 + m[:, None] * stride + columns[None, :])
        total = tl.dot(a, tl.load(w + i[:, None] * 64 + n[None, :]), total)
    tl.store(out + m[:, None] * 64 + n[None, :], total)


@pytest.mark.parametrize("index", [tl.uint8, tl.int8, tl.int16])
@pytest.mark.parametrize("first, steps", [(1, 0), (8, 0), (64, 0), (0, 3), (0, 100)])
def test_indices_that_wrap_around(index, first, steps):
    """Columns 0 to 255, counted from `first` or moved by `steps`, in a narrow type: some of adjacent columns are not adjacent in memory."""
    memory = (np.arange(257 * 64 + 4096) % 61).astype(np.float16)
    weights, out = np.eye(256, 64, k=-192).astype(np.float16), np.zeros((64, 64), np.float32)
    narrow_indices[(1,)](memory, weights, out, 512, 257, first, index, steps)
    dtype = getattr(np, str(index))
    columns = (np.arange(256) + first + steps).astype(dtype).astype(np.int64)[192:]
    rows = 512 + 257 * np.arange(64)[:, None] + columns[None, :]
    np.testing.assert_array_equal(out, memory[rows].astype(np.float32) + memory[rows + 256])
