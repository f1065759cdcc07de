"""Cases that tensor maps cannot express directly: conditions for a whole tile, empty tensors, tiles that are larger than a box."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import close, random, wide


@triton.jit
def some_tiles_kernel(a_ptr, b_ptr, c_ptr, flags_ptr, m, k, first, last, BK: tl.constexpr):
    rows, cols, rk = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, BK)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, BK):
        inside = (start >= first) & (start < last)
        a = tl.load(a_ptr + rows[:, None] * k + start + rk[None, :], mask=(rows[:, None] < m) & inside, other=0.0)
        b = tl.load(b_ptr + (start + rk)[:, None] * 64 + cols[None, :], mask=inside)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * 64 + cols[None, :], acc, mask=(rows[:, None] < m) & (tl.load(flags_ptr) != 0))


@pytest.mark.unchecked
@pytest.mark.parametrize("stored", [0, 1])
@pytest.mark.parametrize("first, last", [(0, 128), (32, 96), (64, 64)])
def test_conditions_of_the_whole_tile(first, last, stored):
    m, k = 50, 128
    a, b = random((64, k), "fp16", 1), random((k, 64), "fp16", 2)
    c = np.full((64, 64), 7, np.float32)
    some_tiles_kernel[(1,)](a, b, c, np.array([stored], np.int32), m, k, first, last, BK=32)
    expected = np.full((64, 64), 7.0)
    if stored:
        expected[:m] = (wide(a)[:, first:last] @ wide(b)[first:last])[:m]
    close(c, expected, "fp32", terms=k)


@triton.jit
def empty_kernel(a_ptr, b_ptr, c_ptr, m, n, k, stride):
    i = tl.arange(0, 64)
    a = tl.load(a_ptr + i[:, None] * stride + i[None, :], mask=(i[:, None] < m) & (i[None, :] < k), other=0.0)
    b = tl.load(b_ptr + i[:, None] * 64 + i[None, :])
    total = tl.dot(a, b) + 1.0
    tl.store(c_ptr + i[:, None] * 64 + i[None, :], total, mask=(i[:, None] < n))


@pytest.mark.parametrize("m, k", [(0, 64), (64, 0), (-3, 64), (0, 0)])
def test_empty_tensors_are_neither_read_nor_written(m, k):
    b = random((64, 64), "fp16", 3)
    c = np.zeros((64, 64), np.float32)
    empty_kernel[(1,)](np.zeros(0, np.float16), b, c, m, 64, k, max(k, 0))
    np.testing.assert_array_equal(c, 1)
    empty_kernel[(1,)](b, b, c[:0], 64, 0, 64, 64)
    np.testing.assert_array_equal(c, 1)


@triton.jit
def tall_kernel(a_ptr, b_ptr, c_ptr, ROWS: tl.constexpr):
    m, n = tl.arange(0, ROWS), tl.arange(0, 16)
    a = tl.load(a_ptr + m[:, None] * 16 + n[None, :])
    b = tl.load(b_ptr + n[:, None] * 16 + n[None, :])
    tl.store(c_ptr + m[:, None] * 16 + n[None, :], tl.dot(a, b))


def test_tiles_larger_than_a_box():
    a, b = random((512, 16), "fp16", 4), random((16, 16), "fp16", 5)
    c = np.zeros((512, 16), np.float32)
    tall_kernel[(1,)](a, b, c, ROWS=512)
    close(c, wide(a) @ wide(b), "fp32", terms=16)


@triton.jit
def tile_sum(a_desc, b_desc, row, K):
    acc = tl.zeros((64, 64), dtype=tl.float32)
    for start in range(0, K, 64):
        acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, 0]), acc)
    return tl.sum(tl.sum(acc, 1), 0)


@triton.jit
def first_tile_kernel(a_ptr, b_ptr, out_ptr, M, N, K, limit):
    """Copies in the condition of a loop count their stages through all of its iterations."""
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [64, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [64, 64])
    row = 0
    while tile_sum(a_desc, b_desc, row, K) < limit:
        row += 64
    tl.store(out_ptr, row)
    tl.store(out_ptr + 1, tile_sum(a_desc, b_desc, row, K).to(tl.int32))


@pytest.mark.parametrize("K, tile", [(64, 0), (128, 3), (320, 2)])
def test_copies_in_a_condition(K, tile):
    a = np.zeros((256, K), np.float16)
    a[tile * 64 + 5, K - 3] = 1
    b = np.ones((K, 64), np.float16)
    out = np.full(2, -1, np.int32)
    first_tile_kernel[(1,)](a, b, out, 256, 64, K, 64.0, num_warps=4, num_stages=3)
    assert out.tolist() == [tile * 64, 64]


@triton.jit
def relative_kernel(table_ptr, w_ptr, out_ptr, index_ptr, M, K, stride_b, stride_m, LOADED: tl.constexpr):
    """`table_ptr` may point into a table, whose matrix d is at d * stride_b."""
    d = tl.load(index_ptr + tl.program_id(0)) if LOADED else tl.program_id(0) - tl.program_id(1)
    m, n, i = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    table_ptr += d.to(tl.int64) * stride_b
    for start in range(0, K, 64):
        k = start + i
        a = tl.load(table_ptr + m[:, None] * stride_m + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        acc = tl.dot(a, tl.load(w_ptr + k[:, None] * 64 + n[None, :], mask=(k < K)[:, None], other=0.0), acc)
    out_ptr += (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * 4096
    tl.store(out_ptr + m[:, None] * 64 + n[None, :], acc)


@pytest.mark.unchecked
@pytest.mark.parametrize("first", [0, 2, 4])
@pytest.mark.parametrize("K", [64, 120])
def test_negative_indices_of_a_view(first, K):
    """Elements before a view's first one exist, so an index that is loaded or subtracted may be negative."""
    table = np.random.default_rng(K).integers(-3, 4, (5, 50, K)).astype(np.float16)
    w = random((K, 64), "fp16", 2)
    index = np.array([0, 4, 2, 1, 3], np.int32) - first
    out = np.full((5, 1, 64, 64), np.nan, np.float32)
    relative_kernel[(5, 1)](table[first], w, out, index, 50, K, 50 * K, K, LOADED=True)
    for d, result in zip(index, out):
        close(result[0, :50], wide(table[first + d]) @ wide(w), "fp32", terms=K)
    if first != 2: return
    out = np.full((3, 3, 64, 64), np.nan, np.float32)
    relative_kernel[(3, 3)](table[first], w, out, index, 50, K, 50 * K, K, LOADED=False)
    for x in range(3):
        for y in range(3):
            close(out[x, y, :50], wide(table[first + x - y]) @ wide(w), "fp32", terms=K)
