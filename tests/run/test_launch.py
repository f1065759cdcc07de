"""Launches: grids of every rank, sizes zero and one, kinds of arguments, numbers of threads."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@triton.jit
def grid_kernel(out_ptr, count_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out_ptr + at, x + 100 * y + 10000 * z)
    tl.atomic_add(count_ptr, 1)


@pytest.mark.parametrize("grid", [(1,), (7,), (3, 4), (2, 3, 5), (1, 1, 9), (0,), (5, 0)])
def test_every_program_runs_once(grid):
    nx, ny, nz = (*grid, 1, 1)[:3]
    out, count = np.full((nz, ny, nx), -1, np.int32), np.zeros(1, np.int32)
    grid_kernel[grid](out, count)
    z, y, x = np.indices(out.shape)
    np.testing.assert_array_equal(out, x + 100 * y + 10000 * z)
    assert count[0] == out.size


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, bias_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    y = tl.load(x_ptr + offsets, mask=mask) * factor
    if bias_ptr is not None:
        y += tl.load(bias_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, y, mask=mask)


@pytest.mark.parametrize("n", [0, 1, 2, 255, 1000])
@pytest.mark.parametrize("factor", [1, 2.5, -3])
@pytest.mark.parametrize("with_bias", [False, True])
def test_arguments(n, factor, with_bias):
    x, bias = random(n, "fp32", 1), random(n, "fp32", 2)
    out = np.zeros(n, np.float32)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    scale_kernel[grid](x, out, n, factor, bias if with_bias else None, BLOCK=64)
    np.testing.assert_allclose(out, x * np.float32(factor) + (bias if with_bias else 0), rtol=1e-6, atol=1e-6)


@triton.jit
def integer_kernel(out_ptr, a, b, c):
    tl.store(out_ptr, a.to(tl.int64))
    tl.store(out_ptr + 1, b.to(tl.int64))
    tl.store(out_ptr + 2, c.to(tl.int64))


@pytest.mark.parametrize("values", [(2, 3, 4), (-5, 16, 2**31 - 2), (2**31, -(2**31), -(2**40)), (32, 48, 2**62)])
def test_integers_of_every_size(values):
    out = np.zeros(3, np.int64)
    integer_kernel[(1,)](out, *values)
    np.testing.assert_array_equal(out, values)


@triton.jit
def unaligned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) + 1.0, mask=offsets < n)


@pytest.mark.parametrize("start", [0, 1, 3, 16])
def test_pointers_into_the_middle(start):
    x = random(200, "fp32", 1)
    out = np.zeros(200, np.float32)
    unaligned_kernel[(1,)](x[start:], out[200 - 150 - start :], 150, BLOCK=256)
    expected = np.zeros(200, np.float32)
    expected[50 - start : 200 - start] = x[start : start + 150] + np.float32(1)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def softmax_dot_kernel(x_ptr, w_ptr, out_ptr, n_rows, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    at = rows[:, None] * BLOCK_N + columns[None, :]
    x = tl.load(x_ptr + at, mask=rows[:, None] < n_rows, other=0.0)
    p = tl.exp(x - tl.max(x, 1)[:, None])
    p = p / tl.sum(p, 1)[:, None]
    w = tl.load(w_ptr + columns[:, None] * BLOCK_N + columns[None, :])
    tl.store(out_ptr + at, tl.dot(p, w), mask=rows[:, None] < n_rows)


def test_the_number_of_threads_changes_no_bit(engine):
    if engine != "cpu":
        pytest.skip("the interpreter has one thread")
    x, w = random((1001, 64), "fp32", 1), random((64, 64), "fp32", 2)
    results = []
    for threads in (1, 2, 2, 3):
        out = np.zeros_like(x)
        softmax_dot_kernel[(triton.cdiv(1001, 16),)](x, w, out, 1001, BLOCK_M=16, BLOCK_N=64, num_threads=threads)
        results.append(out.tobytes())
    assert len(set(results)) == 1
