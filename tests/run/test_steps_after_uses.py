"""A loop advances its loads by a quotient that it computes after them."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def steps(a_ptr, b_ptr, out_ptr, n, k, length, parts):
    rows, columns, depth = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    start = 0
    for i in range(0, n):
        at = start + depth
        a = tl.load(a_ptr + rows[:, None] * 512 + at[None, :], mask=at[None, :] < k, other=0.0)
        b = tl.load(b_ptr + at[:, None] * 64 + columns[None, :], mask=at[:, None] < k, other=0.0)
        acc = tl.dot(a, b, acc)
        start += length // parts
    tl.store(out_ptr + rows[:, None] * 64 + columns[None, :], acc)


@pytest.mark.parametrize("n, k, length, parts", [(4, 512, 512, 8), (3, 448, 496, 16), (0, 512, 512, 16)])
def test_steps(n, k, length, parts):
    random = np.random.default_rng(n)
    a, b = random.integers(-4, 5, (64, 512)).astype(np.float16), random.integers(-4, 5, (512, 64)).astype(np.float16)
    out = np.empty((64, 64), np.float32)
    steps[(1,)](a, b, out, n, k, length, parts, num_stages=3)
    expected = np.zeros((64, 64), np.float32)
    for start in range(0, n * (length // parts), length // parts):
        end = min(start + 64, k)
        expected += a[:, start:end].astype(np.float32) @ b[start:end].astype(np.float32)
    np.testing.assert_array_equal(out, expected)
