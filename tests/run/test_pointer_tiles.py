"""Tiles of pointers that loops carry, that dots compute, and that memory holds."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def walk_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pointers = x_ptr + tl.arange(0, BLOCK)
    total = 0.0
    for i in range(0, n):
        values = tl.load(pointers)
        total += tl.max(values, axis=0)
        tl.store(out_ptr + 1 + i * BLOCK + tl.arange(0, BLOCK), tl.cumsum(values, axis=0))
        pointers = tl.where(values > 0, pointers + 1, pointers + 2)
    tl.store(out_ptr, total)


def test_a_loop_with_reductions_carries_pointers():
    n, block = 5, 64
    x = np.random.default_rng(0).integers(-4, 5, block + 2 * n).astype(np.float32)
    out, expected = np.zeros(1 + n * block, np.float32), np.zeros(1 + n * block, np.float32)
    at = np.arange(block)
    for i in range(n):
        expected[0] += x[at].max()
        expected[1 + i * block: 1 + (i + 1) * block] = np.cumsum(x[at])
        at = np.where(x[at] > 0, at + 1, at + 2)
    walk_kernel[(1,)](x, out, n, BLOCK=block)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def codebook_kernel(a_ptr, b_ptr, table_ptr, out_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    total = tl.zeros((M, N), tl.float32)
    for i in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * K + (i + k)[None, :])
        b = tl.load(b_ptr + n[None, :] * K + (i + k)[:, None])
        total += tl.load(table_ptr + tl.dot(a, b).to(tl.int32))
    tl.store(out_ptr + m[:, None] * N + n[None, :], total)


@triton.jit
def carried_kernel(a_ptr, b_ptr, table_ptr, out_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    total = tl.zeros((M, N), tl.float32)
    pointers = table_ptr + m[:, None] * 0 + n[None, :] * 0
    for i in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * K + (i + k)[None, :])
        b = tl.load(b_ptr + n[None, :] * K + (i + k)[:, None])
        total += tl.dot(a, b).to(tl.float32)
        pointers = tl.where(total > 100, pointers + 1, pointers)
    tl.store(out_ptr + m[:, None] * N + n[None, :], tl.load(pointers) + total)


@pytest.mark.parametrize("dtype", [np.float16, np.int8])
@pytest.mark.parametrize("kernel", [codebook_kernel, carried_kernel])
def test_dots_and_pointers_in_a_loop(kernel, dtype):
    M, N, K, step = 128, 128, 192, 64
    random = np.random.default_rng(1)
    a, b = random.integers(0, 3, (M, K)).astype(dtype), random.integers(0, 3, (N, K)).astype(dtype)
    table, out = random.integers(-8, 9, 4 * step + 1).astype(np.float32), np.zeros((M, N), np.float32)
    dots = np.stack([a[:, i:i + step].astype(np.int64) @ b[:, i:i + step].T.astype(np.int64) for i in range(0, K, step)])
    if kernel is codebook_kernel:
        expected = table[dots].sum(0)
    else:
        totals = np.cumsum(dots, axis=0)
        expected = table[(totals > 100).sum(0)] + totals[-1]
    kernel[(1,)](a, b, table, out, K, M=M, N=N, BLOCK_K=step)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def stored_kernel(table_ptr, x_ptr, BLOCK: tl.constexpr):
    table = table_ptr.to(tl.pointer_type(tl.pointer_type(tl.float32)))
    m = tl.arange(0, BLOCK)
    at = m[:, None] * BLOCK + m[None, :]
    tl.store(table + at, x_ptr + at)
    tl.store(table + at + BLOCK * BLOCK, x_ptr + 2 * at)


@pytest.mark.unchecked
def test_stores_of_pointers():
    block = 64
    x, table = np.zeros(2 * block * block, np.float32), np.zeros(2 * block * block, np.int64)
    stored_kernel[(1,)](table, x, BLOCK=block)
    steps = np.arange(block * block)
    np.testing.assert_array_equal(table - table[0], 4 * np.concatenate([steps, 2 * steps]))
