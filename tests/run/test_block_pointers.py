"""Block pointers and tensor descriptors: positions, borders, padding, movement."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random, strides
from tilewright.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy_kernel(x_ptr, out_ptr, m, n, sxm, sxn, som, son, PADDING: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    at_m, at_n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    x_block = tl.make_block_ptr(x_ptr, shape=(m, n), strides=(sxm, sxn), offsets=(at_m, at_n), block_shape=(BLOCK_M, BLOCK_N), order=(1, 0))
    x = tl.load(x_block, boundary_check=(0, 1), padding_option=PADDING)
    # Whole blocks are stored, because the output is large enough for them.
    rows, columns = at_m + tl.arange(0, BLOCK_M), at_n + tl.arange(0, BLOCK_N)
    tl.store(out_ptr + rows[:, None] * som + columns[None, :] * son, x)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("shape", [(1, 1), (16, 32), (17, 33), (40, 70)])
def test_loads_pad_after_the_border(shape, padding, transposed):
    x = random(shape[::-1], "fp32", 1).T if transposed else random(shape, "fp32", 1)
    grid = (triton.cdiv(shape[0], 16), triton.cdiv(shape[1], 32))
    out = np.zeros((grid[0] * 16, grid[1] * 32), np.float32)
    copy_kernel[grid](x, out, *shape, *strides(x), *strides(out), PADDING=padding, BLOCK_M=16, BLOCK_N=32)
    expected = np.full_like(out, 0 if padding == "zero" else np.nan)
    expected[: shape[0], : shape[1]] = x
    np.testing.assert_array_equal(out, expected)


@triton.jit
def row_sums_kernel(x_ptr, out_ptr, m, n, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M
    x_block = tl.make_block_ptr(x_ptr, (m, n), (stride, 1), (row, 0), (BLOCK_M, BLOCK_N), (1, 0))
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, n, BLOCK_N):
        acc += tl.load(x_block, boundary_check=(0, 1), padding_option="zero")
        x_block = tl.advance(x_block, (0, BLOCK_N))
    out_block = tl.make_block_ptr(out_ptr, (m,), (1,), (row,), (BLOCK_M,), (0,))
    tl.store(out_block, tl.sum(acc, 1), boundary_check=(0,))


@pytest.mark.parametrize("shape", [(1, 1), (20, 64), (37, 100)])
def test_a_block_that_moves(shape):
    x = random(shape, "fp32", 1)
    out = np.full(shape[0] + 10, 7.0, np.float32)
    row_sums_kernel[(triton.cdiv(shape[0], 16),)](x, out, *shape, strides(x)[0], BLOCK_M=16, BLOCK_N=32)
    np.testing.assert_allclose(out[: shape[0]], x.astype(np.float64).sum(1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(out[shape[0] :], 7.0)


@triton.jit
def interior_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    x_block = tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    x_block = tl.advance(tl.advance(x_block, (BLOCK, 0)), (-8, 4))
    out_block = tl.make_block_ptr(out_ptr, (BLOCK, BLOCK), (1, BLOCK), (0, 0), (BLOCK, BLOCK), (0, 1))
    tl.store(out_block, tl.load(x_block))


def test_unchecked_blocks_and_a_transposing_store():
    x = random((64, 64), "fp32", 1)
    out = np.zeros((16, 16), np.float32)
    interior_kernel[(1,)](x, out, 64, BLOCK=16)
    np.testing.assert_array_equal(out, x[8:24, 4:20].T)


@triton.jit
def descriptor_kernel(x_ptr, out_ptr, m, n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
    out = tl.make_tensor_descriptor(out_ptr, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
    at = [tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N]
    out.store(at, x.load(at) * 2)


@pytest.mark.parametrize("shape", [(16, 32), (20, 48), (1, 16)])
def test_descriptors(shape):
    x = random(shape, "fp32", 1)
    out = np.zeros(shape, np.float32)
    descriptor_kernel[(triton.cdiv(shape[0], 8), triton.cdiv(shape[1], 32))](x, out, *shape, BLOCK_M=8, BLOCK_N=32)
    np.testing.assert_array_equal(out, x * 2)


@triton.jit
def described_sum(x, at):
    return x.load([0, 0]) + x.load([at, 0])


@triton.jit
def host_descriptor_kernel(x, plain, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(out_ptr + at, x.load([2, 4]))
    tl.store(out_ptr + ROWS * COLUMNS + at, described_sum(x, 0))
    tl.store(out_ptr + 2 * ROWS * COLUMNS + at, described_sum(plain, 0))


def rounded_to_tf32(x):
    bits = x.view(np.uint32)
    rounded = bits + np.uint32(0xFFF) + (bits >> 13 & 1) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(x), rounded.view(np.float32), x)


@pytest.mark.parametrize("mode", [{}, {"padding": "nan"}, {"round_f32_to_tf32": True}, {"padding": "nan", "round_f32_to_tf32": True}])
def test_what_the_loads_of_a_host_descriptor_give(mode):
    x = random((8, 32), "fp32", 1)
    x[0, :4] = [np.inf, -np.inf, np.nan, np.float32(1 + 2**-11)]  # a tie, which is rounded to even
    out = np.zeros((3, 8, 32), np.float32)
    described, plain = (TensorDescriptor.from_tensor(x, [8, 32], **each) for each in (mode, {}))
    host_descriptor_kernel[(1,)](described, plain, out, ROWS=8, COLUMNS=32)
    y = rounded_to_tf32(x) if "round_f32_to_tf32" in mode else x
    expected = np.full((8, 32), np.nan if "padding" in mode else 0, np.float32)
    expected[:6, :28] = y[2:, 4:]
    np.testing.assert_array_equal(out, np.stack([expected, y + y, x + x]))


def test_descriptors_that_cannot_be():
    x = np.zeros((8, 32), np.int32)
    for mode, why in (({"padding": "nan"}, "padded with NaN"), ({"round_f32_to_tf32": True}, "is one of fp32")):
        with pytest.raises(ValueError, match=why):
            host_descriptor_kernel[(1,)](TensorDescriptor.from_tensor(x, [8, 32], **mode), 0, x, ROWS=8, COLUMNS=32)
