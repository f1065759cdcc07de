"""One tensor passed as two arguments, or two that overlap: a tile is loaded completely before any of it is stored, whatever the order of the loops."""

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


@pytest.mark.parametrize("n", [2, 16, 64, 1024])
def test_reverse_in_place(engine, n):
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    out = x.copy()
    reverse_kernel[(1,)](out, out, n)
    assert np.array_equal(out, x[::-1])


@pytest.mark.parametrize("n", [4, 32])
def test_transpose_in_place(engine, n):
    x = np.random.default_rng(0).standard_normal((n, n)).astype(np.float32)
    out, separate = x.copy(), np.zeros_like(x)
    transpose_kernel[(1,)](out, out, n)
    assert np.array_equal(out, x.T + 1)
    transpose_kernel[(1,)](x, separate, n)
    assert np.array_equal(separate, x.T + 1)


@pytest.mark.parametrize("n", [4, 32])
def test_row_of_the_result(engine, n):
    x = np.random.default_rng(0).standard_normal((n, n)).astype(np.float32)
    out = x.copy()
    add_first_row_kernel[(1,)](out, out, out, n)
    assert np.array_equal(out, x + x[0])


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@pytest.mark.parametrize("n", [1, 40, 64])
@pytest.mark.parametrize("x_at, out_at", [(0, 1), (1, 0), (0, 40), (0, 63), (0, 64), (7, 7), (100, 60)])
def test_views_that_overlap(engine, n, x_at, out_at):
    memory = np.arange(256, dtype=np.float32)
    expected = memory.copy()
    expected[out_at:out_at + n] = memory[x_at:x_at + n]
    copy_kernel[(1,)](memory[x_at:], memory[out_at:], n, BLOCK=64)
    assert np.array_equal(memory, expected)


@triton.jit
def add_rows_kernel(x_ptr, out_ptr, x_stride, out_stride, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    mask = (r < rows) & (c < columns)
    tl.store(out_ptr + r * out_stride + c, tl.load(x_ptr + r * x_stride + c, mask=mask, other=0) + 1, mask=mask)


@pytest.mark.unchecked
@pytest.mark.parametrize("x_stride, out_stride", [(16, 16), (8, 16), (16, -16), (-16, 16), (20, 17)])
@pytest.mark.parametrize("rows, columns", [(16, 16), (5, 3)])
@pytest.mark.parametrize("distance", [0, 1, 8, 16, -5, 400])
def test_rows_of_views_that_overlap(engine, x_stride, out_stride, rows, columns, distance):
    memory = np.arange(1200, dtype=np.float32)
    expected = memory.copy()
    if abs(out_stride) < columns:
        pytest.skip("rows that are stored overlap one another")
    r, c = np.arange(rows)[:, None], np.arange(columns)[None, :]
    expected[400 + distance + r * out_stride + c] = memory[400 + r * x_stride + c] + 1
    add_rows_kernel[(1,)](memory[400:], memory[400 + distance:], x_stride, out_stride, rows, columns, R=16, C=16)
    assert np.array_equal(memory, expected)


@triton.jit
def widen_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets).to(tl.float32) * 3)


@pytest.mark.parametrize("distance", [0, 2, 64, 128])
def test_same_offsets_of_elements_of_another_size(engine, distance):
    memory = np.arange(512, dtype=np.float16)
    expected = memory.copy()
    expected[distance:distance + 128].view(np.float32)[:] = memory[:64].astype(np.float32) * 3
    widen_kernel[(1,)](memory, memory[distance:].view(np.float32), N=64)
    assert np.array_equal(memory, expected)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + offsets, tl.load(x_ptr + tl.load(index_ptr + offsets)))


@triton.jit
def scatter_kernel(x_ptr, index_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(out_ptr + tl.load(index_ptr + offsets), tl.load(x_ptr + offsets))


@pytest.mark.parametrize("out_at", [0, 3, 32, 64, 128, 160])
def test_loaded_indices_in_memory_that_is_stored_to(engine, out_at):
    order = np.random.default_rng(0).permutation(64).astype(np.int32)
    start = np.concatenate([np.arange(64, dtype=np.int32), order, np.zeros(128, np.int32)])
    memory, expected = start.copy(), start.copy()
    expected[out_at:out_at + 64] = start[order]
    gather_kernel[(1,)](memory, memory[64:], memory[out_at:], N=64)
    assert np.array_equal(memory, expected)
    memory, expected = start.copy(), start.copy()
    expected[out_at + order] = start[:64]
    scatter_kernel[(1,)](memory, memory[64:], memory[out_at:], N=64)
    assert np.array_equal(memory, expected)


@triton.jit
def long_chain_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    for _ in tl.static_range(40):
        x = x * x // 7 + (x ^ 5) // 3
    tl.store(out_ptr + offsets, x)


@pytest.mark.without_debug
@pytest.mark.parametrize("distance", [0, 1, 50, 128])
def test_what_takes_long_to_compute(engine, distance):
    memory, separate = np.arange(512, dtype=np.int32), np.zeros(128, np.int32)
    expected = memory.copy()
    long_chain_kernel[(1,)](memory, separate, N=128)
    expected[distance:distance + 128] = separate
    long_chain_kernel[(1,)](memory, memory[distance:], N=128)
    assert np.array_equal(memory, expected)


@triton.jit
def increment_kernel(x_ptr, stride, N: tl.constexpr):
    offsets = tl.arange(0, N) * stride
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1)


@pytest.mark.unchecked
@pytest.mark.parametrize("stride", [0, 1, -1, 3])
def test_elements_at_one_address(engine, stride):
    memory = np.arange(512, dtype=np.int32)
    expected = memory.copy()
    expected[256 + np.unique(np.arange(64) * stride)] += 1
    increment_kernel[(1,)](memory[256:], stride, N=64)
    assert np.array_equal(memory, expected)


@triton.jit
def increment_sums_kernel(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)[:, None] + tl.arange(0, N)[None, :]
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1)


@pytest.mark.unchecked
def test_diagonals_at_one_address():
    memory = np.arange(64, dtype=np.int32)
    expected = memory.copy()
    expected[:31] += 1
    increment_sums_kernel[(1,)](memory, N=16)
    assert np.array_equal(memory, expected)


@triton.jit
def store_then_multiply_kernel(x_ptr, memory_ptr, out_ptr, iterations, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(memory_ptr + columns * N + rows, tl.load(x_ptr + rows * N + columns))
    total = tl.zeros((N, N), tl.float32)
    for i in range(iterations):
        tile = memory_ptr + i * N * N + rows * N + columns
        total = tl.dot(tl.load(tile), tl.load(tile), total)
    tl.store(out_ptr + rows * N + columns, total)


@pytest.mark.parametrize("n", [32, 64])
def test_copies_ahead_of_a_loop_wait_for_what_was_stored(engine, n):
    rng = np.random.default_rng(n)
    x = (rng.integers(-4, 5, (n, n)) / 4).astype(np.float16)
    memory = (rng.integers(-4, 5, (3, n, n)) / 4).astype(np.float16)
    out = np.zeros((n, n), np.float32)
    want = memory.astype(np.float32)
    want[0] = x.T
    store_then_multiply_kernel[(1,)](x, memory, out, 3, n)
    assert np.array_equal(out, sum(tile @ tile for tile in want))


@triton.jit
def add_then_load_kernel(counts_ptr, x_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    tl.atomic_add(counts_ptr + n, tl.load(x_ptr + n), sem="relaxed")
    tl.store(out_ptr + n, tl.load(counts_ptr + N - 1 - n))
    tl.atomic_max(counts_ptr + (n + N // 2) % N, 0, sem="relaxed")


@pytest.mark.parametrize("separate", [True, False])
def test_loads_see_what_atomics_before_them_made(engine, separate):
    n = 1024
    memory = np.arange(3 * n, dtype=np.int32) - n
    counts, x = memory[n:2 * n], np.arange(n, dtype=np.int32) - 7 * n // 4
    out = np.zeros(n, np.int32) if separate else memory[2 * n:]
    added = counts + x
    add_then_load_kernel[(1,)](memory[n:], x, out, n)
    assert np.array_equal(out, added[::-1]) and np.array_equal(counts, np.maximum(added, 0))


@triton.jit
def load_then_add_kernel(counts_ptr, out_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    before = tl.load(counts_ptr + N - 1 - n)
    tl.atomic_add(counts_ptr + n, 1000, sem="relaxed")
    first = tl.load(counts_ptr)
    tl.atomic_xchg(counts_ptr, first + 1, sem="relaxed")
    tl.store(out_ptr + n, before + tl.load(counts_ptr))


def test_atomics_come_after_the_loads_before_them(engine):
    n = 1024
    counts, out = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
    load_then_add_kernel[(1,)](counts, out, n)
    assert np.array_equal(out, np.arange(n)[::-1] + 1001)
    assert np.array_equal(counts, np.arange(n) + 1000 + (np.arange(n) == 0))


@triton.jit
def count_in_loop_kernel(counts_ptr, out_ptr, iterations, N: tl.constexpr):
    n = tl.arange(0, N)
    for i in range(iterations):
        tl.atomic_add(counts_ptr + (n + 32 * i) % N, i, sem="relaxed")
        tl.atomic_xor(counts_ptr + (n + 64 * i) % N, n, sem="relaxed")
    tl.store(out_ptr + n, tl.load(counts_ptr + n))


def test_atomics_of_two_kinds_keep_their_order(engine):
    n, iterations = 512, 4
    counts, out, want = np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    count_in_loop_kernel[(1,)](counts, out, iterations, n)
    places = np.arange(n)
    for i in range(iterations):
        want[(places + 32 * i) % n] += i
        want[(places + 64 * i) % n] ^= places.astype(np.int32)
    assert np.array_equal(out, want)


@triton.jit
def add_then_multiply_kernel(x_ptr, memory_ptr, out_ptr, iterations, N: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.atomic_add(memory_ptr + columns * N + rows, tl.load(x_ptr + rows * N + columns), sem="relaxed")
    total = tl.zeros((N, N), tl.float32)
    for i in range(iterations):
        tile = memory_ptr + i * N * N + rows * N + columns
        total = tl.dot(tl.load(tile), tl.load(tile), total)
    tl.store(out_ptr + rows * N + columns, total)


@pytest.mark.parametrize("n", [32, 64])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_copies_ahead_of_a_loop_wait_for_atomics(engine, n, dtype):
    rng = np.random.default_rng(n)
    x = (rng.integers(-4, 5, (n, n)) / 4).astype(dtype)
    memory = (rng.integers(-4, 5, (3, n, n)) / 4).astype(dtype)
    out = np.zeros((n, n), np.float32)
    want = memory.astype(np.float32)
    want[0] += x.T
    add_then_multiply_kernel[(1,)](x, memory, out, 3, n)
    assert np.array_equal(out, sum(tile @ tile for tile in want))
