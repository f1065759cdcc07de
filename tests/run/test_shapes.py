"""Operations that move elements without computing: reshape, transpose, join, broadcast, gather, histogram, sort."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@triton.jit
def move_kernel(x_ptr, out_ptr, OP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if OP == "trans":
        y = tl.ravel(tl.trans(x))
    elif OP == "T":
        y = tl.reshape(x.T, (M * N,))
    elif OP == "reshape":
        y = tl.reshape(tl.reshape(x, (N // 2, M * 2)).T, (M * N,))
    elif OP == "permute":
        y = tl.reshape(tl.permute(tl.reshape(x, (M, 2, N // 2)), (2, 0, 1)), (M * N,))
    elif OP == "flip":
        y = tl.reshape(tl.flip(x, 1), (M * N,))
    elif OP == "sort":
        y = tl.reshape(tl.sort(x), (M * N,))
    else:
        y = tl.reshape(tl.sort(x, descending=True), (M * N,))
    tl.store(out_ptr + tl.arange(0, M * N), y)


MOVES = {
    "trans": lambda x: x.T,
    "T": lambda x: x.T,
    "reshape": lambda x: x.reshape(x.shape[1] // 2, x.shape[0] * 2).T,
    "permute": lambda x: x.reshape(x.shape[0], 2, x.shape[1] // 2).transpose(2, 0, 1),
    "flip": lambda x: x[:, ::-1],
    "sort": lambda x: np.sort(x, 1),
    "descending": lambda x: np.sort(x, 1)[:, ::-1],
}


@pytest.mark.parametrize("op", list(MOVES))
@pytest.mark.parametrize("shape", [(1, 8), (8, 4), (16, 32)])
@pytest.mark.parametrize("dtype", ["fp32", "int32", "fp16"])
def test_moves(op, shape, dtype):
    x = random(shape, dtype, 1)
    out = np.zeros(x.size, x.dtype)
    move_kernel[(1,)](x, out, OP=op, M=shape[0], N=shape[1])
    np.testing.assert_array_equal(out, MOVES[op](x).reshape(-1))


@triton.jit
def join_kernel(x_ptr, y_ptr, joined_ptr, interleaved_ptr, even_ptr, odd_ptr, N: tl.constexpr):
    n = tl.arange(0, N)
    x, y = tl.load(x_ptr + n), tl.load(y_ptr + n)
    joined = tl.join(x, y)
    tl.store(joined_ptr + n[:, None] * 2 + tl.arange(0, 2)[None, :], joined)
    mixed = tl.interleave(x, y)
    tl.store(interleaved_ptr + tl.arange(0, 2 * N), mixed)
    even, odd = tl.split(tl.reshape(mixed, (N, 2)))
    tl.store(even_ptr + n, even)
    tl.store(odd_ptr + n, odd)


def test_join_interleave_and_split():
    x, y = random(32, "fp32", 1), random(32, "fp32", 2)
    joined, mixed, even, odd = np.zeros((32, 2), np.float32), np.zeros(64, np.float32), np.zeros_like(x), np.zeros_like(x)
    join_kernel[(1,)](x, y, joined, mixed, even, odd, N=32)
    np.testing.assert_array_equal(joined, np.stack([x, y], 1))
    np.testing.assert_array_equal(mixed, np.stack([x, y], 1).reshape(-1))
    np.testing.assert_array_equal(even, x)
    np.testing.assert_array_equal(odd, y)


@triton.jit
def broadcast_kernel(x_ptr, y_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m)
    y = tl.load(y_ptr + n)
    z = x[:, None] * y[None, :] + tl.broadcast_to(tl.expand_dims(x, 1), (M, N)) - 1.0
    tl.store(out_ptr + m[:, None] * N + n[None, :], z)


def test_broadcasts():
    x, y = random(16, "fp32", 1), random(64, "fp32", 2)
    out = np.zeros((16, 64), np.float32)
    broadcast_kernel[(1,)](x, y, out, M=16, N=64)
    expected = x[:, None].astype(np.float64) * y + x[:, None] - 1
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


@triton.jit
def gather_kernel(x_ptr, index_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + at), tl.load(index_ptr + at), axis=1))


def test_gather_within_a_tile():
    x, index = random((8, 32), "fp32", 1), random((8, 32), "int32", 2, 0, 32)
    out = np.zeros_like(x)
    gather_kernel[(1,)](x, index, out, M=8, N=32)
    np.testing.assert_array_equal(out, np.take_along_axis(x, index.astype(np.int64), 1))


@triton.jit
def item_kernel(x_ptr, index, out_ptr):
    picked = tl.gather(tl.load(x_ptr + tl.arange(0, 16)), tl.full([1], index, tl.int32), axis=0)
    tl.store(out_ptr, tl.item(picked) * 2)


def test_the_only_element_of_a_tile():
    x, out = np.arange(16, dtype=np.int32), np.zeros(1, np.int32)
    item_kernel[(1,)](x, 11, out)
    assert out[0] == 22


@triton.jit
def histogram_kernel(x_ptr, out_ptr, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BINS), tl.histogram(tl.load(x_ptr + tl.arange(0, N)), BINS))


def test_histogram():
    x = random(1024, "int32", 1, 0, 16)
    out = np.zeros(16, np.int32)
    histogram_kernel[(1,)](x, out, N=1024, BINS=16)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=16))
