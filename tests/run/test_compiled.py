"""Programs whose results would change if the compiler carelessly recomputed, reordered or wrote in place."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@triton.jit
def outer_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=1)
    tl.store(out_ptr + offsets[:, None] * N + offsets[None, :], x[:, None] * x[None, :])


@pytest.mark.parametrize("n", [0, 3, 16, 31, 32])
def test_one_masked_load_along_rows_and_columns(n):
    x, out = random(64, "int32", 1, -9, 9), np.zeros((32, 32), np.int32)
    outer_kernel[(1,)](x, out, n, N=32)
    held = np.where(np.arange(32) < n, x[:32], 1)
    np.testing.assert_array_equal(out, held[:, None] * held[None, :])


@triton.jit
def crossed_kernel(x_ptr, out_ptr, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    mask = offsets < n
    at = offsets[:, None] + offsets[None, :] * N
    x = tl.load(x_ptr + offsets[:, None] * N + offsets[None, :], mask=mask[:, None] & (offsets[None, :] < N), other=5)
    tl.store(out_ptr + at, x, mask=mask[None, :] & (offsets[:, None] < N))


@pytest.mark.parametrize("n", [0, 5, 16])
def test_one_comparison_masks_rows_here_and_columns_there(n):
    x, out = random((16, 16), "int32", 1, -9, 9), np.zeros((16, 16), np.int32)
    crossed_kernel[(1,)](x, out, n, N=16)
    held = np.where(np.arange(16)[:, None] < n, x, 5)
    np.testing.assert_array_equal(out, np.where(np.arange(16)[:, None] < n, held.T, 0))


@triton.jit
def range_sum_kernel(x_ptr, out_ptr, low, high, rows, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets, mask=(offsets >= low) & (offsets < high) & (tl.program_id(0) < rows), other=2)
    tl.store(out_ptr + tl.program_id(0), tl.sum(x))


@pytest.mark.parametrize("low, high, rows", [(0, 64, 2), (7, 50, 2), (0, 40, 1), (64, 64, 0)])
def test_masks_with_a_lower_bound_under_a_reduction(low, high, rows):
    x, out = random(64, "int32", 1, -9, 9), np.zeros(2, np.int32)
    range_sum_kernel[(2,)](x, out, low, high, rows, N=64)
    offsets = np.arange(64)
    expected = [np.where((offsets >= low) & (offsets < high) & (row < rows), x, 2).sum() for row in range(2)]
    np.testing.assert_array_equal(out, expected)


@triton.jit
def single_kernel(x_ptr, out_ptr, n):
    offsets = tl.program_id(0) + tl.arange(0, 1)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n, other=3) + 1, mask=offsets < n)


def test_a_mask_of_one_element():
    x, out = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    single_kernel[(4,)](x, out, 2)
    np.testing.assert_array_equal(out, [1, 2, 0, 0])


@triton.jit
def transpose_in_loop_kernel(x_ptr, out_ptr, iterations, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    acc = tl.load(x_ptr + at)
    for _ in range(iterations):
        acc = acc * 3 - tl.trans(acc)
    tl.store(out_ptr + at, acc)


@triton.jit
def dot_in_loop_kernel(x_ptr, out_ptr, iterations, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    acc = x
    for _ in range(iterations):
        acc = tl.dot(acc, x, tl.trans(acc), input_precision="ieee")
    tl.store(out_ptr + at, acc)


@triton.jit
def reshape_in_loop_kernel(x_ptr, out_ptr, iterations, N: tl.constexpr):
    at = tl.arange(0, N * N)
    acc = tl.load(x_ptr + at)
    for _ in range(iterations):
        view = tl.trans(tl.reshape(acc, (N, N)))
        acc = acc * 2 + 1
        acc += tl.reshape(view, (N * N,))
    tl.store(out_ptr + at, acc)


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_a_carried_tile_read_at_other_places_than_it_is_written(iterations):
    x, out = random((16, 16), "int32", 1, -9, 9), np.zeros((16, 16), np.int32)
    transpose_in_loop_kernel[(1,)](x, out, iterations, N=16)
    expected = x.copy()
    for _ in range(iterations):
        expected = expected * 3 - expected.T
    np.testing.assert_array_equal(out, expected)

    reshape_in_loop_kernel[(1,)](x, out, iterations, N=16)
    expected = x.copy()
    for _ in range(iterations):
        expected = expected * 2 + 1 + expected.T
    np.testing.assert_array_equal(out, expected)

    x, out = random((16, 16), "int32", 1, -2, 3).astype(np.float32), np.zeros((16, 16), np.float32)
    dot_in_loop_kernel[(1,)](x, out, iterations, N=16)
    expected = x.copy()
    for _ in range(iterations):
        expected = expected @ x + expected.T
    np.testing.assert_array_equal(out, expected)


@triton.jit
def transpose_in_place_kernel(x_ptr, N: tl.constexpr):
    at = x_ptr + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(at, tl.trans(tl.load(at)))


def test_a_transposition_within_memory():
    x = random((32, 32), "int32", 1)
    expected = x.T.copy()
    transpose_in_place_kernel[(1,)](x, N=32)
    np.testing.assert_array_equal(x, expected)


@triton.jit
def two_remainders_kernel(x_ptr, out_ptr, rows, columns, N: tl.constexpr):
    r = tl.arange(0, N)
    x = tl.load(x_ptr + (r % rows)[:, None] * N + ((r % rows) % columns)[None, :])
    tl.store(out_ptr + r[:, None] * N + r[None, :], x, mask=((r % rows) < 5)[None, :] & (r < N)[:, None])


@pytest.mark.parametrize("rows, columns", [(16, 16), (7, 16), (16, 5), (11, 3)])
def test_remainders_of_remainders_along_two_dimensions(rows, columns):
    x, out = random((16, 16), "int32", 1), np.zeros((16, 16), np.int32)
    two_remainders_kernel[(1,)](x, out, rows, columns, N=16)
    r = np.arange(16)
    held = x[(r % rows)[:, None], ((r % rows) % columns)[None, :]]
    np.testing.assert_array_equal(out, np.where((r % rows < 5)[None, :], held, 0))


@triton.jit
def chain_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    for _ in tl.static_range(40):
        x = x * x + x
    tl.store(out_ptr + tl.arange(0, N), x)


@pytest.mark.without_debug
def test_a_long_chain_of_values_used_twice_compiles_in_no_time():
    x, out = random(64, "int32", 1), np.zeros(64, np.int32)
    chain_kernel[(1,)](x, out, N=64)
    for _ in range(40):
        x = x * x + x
    np.testing.assert_array_equal(out, x)


@triton.jit
def divide_by_one_number_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x / (tl.max(tl.abs(x), 0) / 448))


def test_division_by_one_number_is_rounded_once(engine):
    if engine not in ("cpu", "interpret"):
        pytest.skip("GPUs divide fp32 within two units in the last place, as upstream")
    for seed in range(16):
        x, out = random(128, "fp32", seed), np.zeros(128, np.float32)
        divide_by_one_number_kernel[(1,)](x, out, N=128)
        np.testing.assert_array_equal(out, x / (np.abs(x).max() / np.float32(448)))


@triton.jit
def many_sums_kernel(x_ptr, ITERATIONS: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    for _ in tl.static_range(ITERATIONS):
        x = tl.cumsum(x, 0)
    tl.store(x_ptr + offsets, x)


def test_scratch_beyond_what_an_offset_constant_holds(engine):
    """There are 33 tiles of 8 MiB, so the last one is more than 2^28 bytes from the first."""
    if engine == "cuda":
        pytest.skip("no shared memory holds such a tile")
    with triton.engine("cpu"):
        x = np.zeros(1 << 20, np.int64)
        x[0] = 1
        expected = x.copy()
        many_sums_kernel[(1,)](x, ITERATIONS=34, N=1 << 20)
        for _ in range(34):
            expected = np.cumsum(expected)
        np.testing.assert_array_equal(x, expected)


@triton.jit
def long_chain_kernel(x_ptr, ITERATIONS: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    for i in tl.static_range(ITERATIONS):
        x = (x ^ i) * 3 + x
    tl.store(x_ptr + offsets, x)


@pytest.mark.without_debug
def test_a_chain_of_very_many_operations():
    """The compiler's stack does not grow with the kernel, and the chain is computed in parts."""
    with triton.engine("cpu"):
        x = np.arange(64, dtype=np.int32)
        expected = x.copy()
        long_chain_kernel[(1,)](x, ITERATIONS=5000, N=64)
        for i in range(5000):
            expected = (expected ^ np.int32(i)) * np.int32(3) + expected
        np.testing.assert_array_equal(x, expected)
