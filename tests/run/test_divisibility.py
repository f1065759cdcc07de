"""One kernel is launched with sizes and strides that are multiples of 16, 8, 4, 2 and 1 in turn: each launch gets the widest possible accesses."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import close, random, wide


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, stride_a, stride_b, stride_c, BLOCK: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns, rk = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BK):
        inside = start + rk < k
        a = tl.load(a_ptr + rows[:, None] * stride_a + (start + rk)[None, :], mask=(rows[:, None] < m) & inside[None, :], other=0.0)
        b = tl.load(b_ptr + (start + rk)[:, None] * stride_b + columns[None, :], mask=inside[:, None] & (columns[None, :] < n), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * stride_c + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


# The order matters: the kernel is compiled for the first launch, and the later ones violate its conditions.
@pytest.mark.parametrize("sizes", [(72, 40, 33, 34, 36, 48), (33, 72, 36, 40)], ids=["wide first", "odd first"])
def test_matmul_of_any_size(sizes):
    for size in sizes:
        m, n, k = size + 1, size, size
        a, b = random((m, k), "fp16", size), random((k, n), "fp16", size + 1)
        c = np.full((m + 1, n), 7, np.float32)
        matmul_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, c[:m], m, n, k, k, n, n, BLOCK=32, BK=16)
        close(c[:m], wide(a) @ wide(b), "fp32", terms=k)
        np.testing.assert_array_equal(c[m], 7)


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(y_ptr + row * stride + at, tl.load(x_ptr + row * stride + at, mask=at < n) * 2, mask=at < n)


@pytest.mark.parametrize("offset", [0, 1, 2, 4])
def test_rows_and_views_of_any_alignment(offset):
    for n, stride in [(100, 104), (100, 100), (98, 98), (97, 97), (97, 98), (96, 97), (100, 104)]:
        x = random(5 * stride + offset, "fp32", n)[offset:]
        y = np.full(5 * stride + offset, 3, np.float32)[offset:]
        scale_kernel[(5,)](x, y, n, stride, BLOCK=128)
        expected = np.full((5, stride), 3, np.float32)
        expected[:, :n] = 2 * x.reshape(5, stride)[:, :n]
        np.testing.assert_array_equal(y.reshape(5, stride), expected)
