"""Loads and stores: masks, neutral values, strides, gathers; nothing outside a mask is touched."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, FLOATS, INTEGERS, random, strides


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, "int1"])
@pytest.mark.parametrize("n", [1, 7, 64, 1000])
def test_masked_copy_leaves_the_rest_alone(n, dtype):
    x = random(n + 64, dtype, 1)
    out = random(n + 64, dtype, 2)
    expected = np.concatenate([x[:n], out[n:]])
    copy_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def other_kernel(x_ptr, out_ptr, low, high, fill, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = (offsets >= low) & (offsets < high)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=fill))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "fp16", "fp32"])
@pytest.mark.parametrize("low, high", [(0, 128), (0, 0), (5, 77), (127, 128), (100, 10)])
def test_other_fills_masked_lanes(low, high, dtype):
    x = random(128, dtype, 1)
    out = np.zeros_like(x)
    other_kernel[(1,)](x, out, low, high, 3, BLOCK=128)
    lanes = np.arange(128)
    np.testing.assert_array_equal(out, np.where((lanes >= low) & (lanes < high), x, DTYPES[dtype](3)))


@triton.jit
def copy_2d_kernel(x_ptr, out_ptr, m, n, sx0, sx1, so0, so1, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    x = tl.load(x_ptr + rows[:, None] * sx0 + columns[None, :] * sx1, mask=mask, other=0)
    tl.store(out_ptr + rows[:, None] * so0 + columns[None, :] * so1, x, mask=mask)


@pytest.mark.parametrize("dtype", ["int8", "fp16", "fp32", "fp64"])
@pytest.mark.parametrize("view", ["plain", "transposed", "sliced", "reversed", "broadcast"])
def test_strided_matrices(view, dtype):
    base = random((90, 120), dtype, 1)
    x = {"plain": base, "transposed": base.T, "sliced": base[3:70:2, 5:99:3], "reversed": base[::-1, ::-1],
         "broadcast": np.broadcast_to(base[:1], base.shape)}[view]
    out = np.zeros(x.shape, x.dtype)
    grid = (triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 32))
    # A view is passed as the address of its first element and its strides.
    copy_2d_kernel[grid](x, out, *x.shape, *strides(x), *strides(out), BLOCK_M=16, BLOCK_N=32)
    np.testing.assert_array_equal(out, x)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    x = tl.load(x_ptr + index, mask=mask & (index >= 0), other=-1)
    tl.store(out_ptr + offsets, x, mask=mask)


@triton.jit
def scatter_kernel(x_ptr, index_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    index = tl.load(index_ptr + offsets, mask=mask, other=0)
    tl.store(out_ptr + index, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@pytest.mark.parametrize("index_dtype", ["int32", "int64"])
def test_gather_and_scatter(index_dtype):
    x = random(500, "fp32", 1)
    index = np.random.default_rng(2).permutation(500)[:77].astype(DTYPES[index_dtype])
    out = np.zeros(500, np.float32)
    scatter_kernel[(1,)](x, index, out, 77, BLOCK=128)
    expected = np.zeros(500, np.float32)
    expected[index] = x[:77]
    np.testing.assert_array_equal(out, expected)
    index[::5] = -1
    out = np.zeros(77, np.float32)
    gather_kernel[(1,)](x, index, out, 77, BLOCK=128)
    np.testing.assert_array_equal(out, np.where(index >= 0, x[index], np.float32(-1)))


@triton.jit
def scalar_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid)
    if pid + 1 < n:
        x += tl.load(x_ptr + pid + 1)
    tl.store(out_ptr + pid, x)


def test_scalars():
    x = random(50, "fp32", 1)
    out = np.zeros(50, np.float32)
    scalar_kernel[(50,)](x, out, 50)
    np.testing.assert_array_equal(out, x + np.append(x[1:], np.float32(0)))


@triton.jit
def in_place_kernel(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + (BLOCK - 1 - offsets), x)
    y = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, x - y)


def test_a_store_does_not_disturb_what_was_loaded_before():
    x = random(256, "fp32", 1)
    expected = x - x[::-1]
    in_place_kernel[(1,)](x, BLOCK=256)
    np.testing.assert_array_equal(x, expected)


@triton.jit
def modifier_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, cache_modifier=".cg", eviction_policy="evict_first", volatile=True)
    tl.store(out_ptr + offsets, x, cache_modifier=".cs", eviction_policy="evict_last")


def test_hints_change_nothing():
    x = random(128, "fp32", 1)
    out = np.zeros_like(x)
    modifier_kernel[(1,)](x, out, BLOCK=128)
    np.testing.assert_array_equal(out, x)


@triton.jit
def hinted_matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        ks = start + tl.arange(0, BLOCK)
        a_mask, b_mask = (rows[:, None] < m) & (ks[None, :] < k), (ks[:, None] < k) & (columns[None, :] < n)
        a = tl.load(a_ptr + rows[:, None] * k + ks[None, :], mask=a_mask, other=0.0, eviction_policy="evict_first")
        b = tl.load(b_ptr + ks[:, None] * n + columns[None, :], mask=b_mask, other=0.0, eviction_policy="evict_last")
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], sums, mask=(rows[:, None] < m) & (columns[None, :] < n))


@pytest.mark.parametrize("k", [72, 136, 200])
def test_hints_change_no_copy_of_a_pipelined_loop(k):
    """Sums of small integers are exact. On a GPU, rows aligned to 16, 8 and 4 bytes are copied in different ways."""
    generator = np.random.default_rng(k)
    for n in (72, 68, 66):
        a = generator.integers(-4, 5, (72, k)).astype(np.float16)
        b = generator.integers(-4, 5, (k, n)).astype(np.float16)
        out = np.zeros((72, n), np.float32)
        hinted_matmul_kernel[(2, 2)](a, b, out, 72, n, k, BLOCK=64, num_stages=4)
        np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def wrapped_columns_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n
    offsets = tl.max_contiguous(tl.multiple_of(offsets, BLOCK), BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


@pytest.mark.unchecked
@pytest.mark.parametrize("n", [96, 128, 192])
def test_contiguity_hints_move_nothing(n):
    """Columns wrap around inside the tile: the hint is false for the tile, and true for each wide access."""
    x, guard = random(n, "fp32", 1), 256
    memory = np.zeros(n + 2 * guard, np.float32)
    out = memory[guard:guard + n]
    wrapped_columns_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK=128)
    np.testing.assert_array_equal(out, x)
    assert not memory[:guard].any() and not memory[guard + n:].any()


@triton.jit
def repeated_rows_kernel(x_ptr, out_ptr, GROUP: tl.constexpr, FORM: tl.constexpr):
    rows, columns = tl.arange(0, 16), tl.arange(0, 64)
    if FORM == "constancy":
        groups = tl.max_constancy(rows // GROUP, 8)
    else:
        groups = tl.max_contiguous(tl.multiple_of(rows * GROUP % 16, 8), 8) // 4
    tl.store(out_ptr + rows[:, None] * 64 + columns[None, :], tl.load(x_ptr + groups[:, None] * 64 + columns[None, :]))


@pytest.mark.unchecked
@pytest.mark.parametrize("form", ["constancy", "contiguity"])
def test_false_hints_about_equal_rows_move_no_load(form):
    x, out = random((16, 64), "fp32", 1), np.zeros((16, 64), np.float32)
    repeated_rows_kernel[(1,)](x, out, GROUP=3, FORM=form)
    rows = np.arange(16)
    np.testing.assert_array_equal(out, x[rows // 3 if form == "constancy" else rows * 3 % 16 // 4])
