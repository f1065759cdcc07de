"""Transposing stores: CPUs transpose square blocks in registers."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES


def numbered(shape, dtype):
    """Different numbers, as far as the type has them."""
    return (np.arange(np.prod(shape)).reshape(shape) % 251 - 125).astype(DTYPES[dtype])


@triton.jit
def transposed_kernel(x_ptr, out_ptr, rows, columns, row_limit, column_limit, B_R: tl.constexpr, B_C: tl.constexpr):
    r, c = tl.program_id(0) * B_R + tl.arange(0, B_R), tl.program_id(1) * B_C + tl.arange(0, B_C)
    x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=(r < rows)[:, None] & (c < columns)[None, :])
    tl.store(out_ptr + c[:, None] * rows + r[None, :], tl.trans(x), mask=(c < column_limit)[:, None] & (r < row_limit)[None, :])


@pytest.mark.parametrize("dtype", ["int8", "int16", "fp16", "bf16", "fp8e5", "fp32", "int32", "fp64", "int64"])
@pytest.mark.parametrize("rows, columns, blocks", [
    (64, 64, (64, 64)), (64, 32, (32, 32)), (70, 50, (32, 64)), (33, 17, (32, 16)), (16, 16, (16, 16)), (5, 3, (32, 32)), (40, 40, (8, 64)),
])
def test_types_and_edges(rows, columns, blocks, dtype):
    x = numbered((rows, columns), dtype)
    grid = (triton.cdiv(rows, blocks[0]), triton.cdiv(columns, blocks[1]))
    for row_limit, column_limit in [(rows, columns), (rows - 2, columns), (rows, columns - 1)]:
        out, expected = (np.full((columns, rows), 77, np.float32).astype(DTYPES[dtype]) for _ in range(2))
        expected[:column_limit, :row_limit] = x[:row_limit, :column_limit].T
        transposed_kernel[grid](x, out, rows, columns, row_limit, column_limit, B_R=blocks[0], B_C=blocks[1])
        np.testing.assert_array_equal(out.view(np.uint8), expected.view(np.uint8))


@triton.jit
def computed_kernel(x_ptr, y_ptr, out_ptr, WHAT: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + i[:, None] * N + j[None, :])
    if WHAT == "sum":  # of two that lie in the same way
        x = tl.trans(x + tl.load(y_ptr + i[:, None] * N + j[None, :]))
    if WHAT == "both ways":
        x = tl.trans(x) + tl.load(y_ptr + j[:, None] * M + i[None, :])
    if WHAT == "rows":
        x = tl.trans(x - tl.max(x, axis=1)[:, None])
    if WHAT == "columns":  # of pointers, the tile itself is not transposed
        tl.store(out_ptr + i[:, None] + j[None, :] * M, x)
    else:
        tl.store(out_ptr + j[:, None] * M + i[None, :], x)


@pytest.mark.parametrize("what", ["sum", "both ways", "rows", "columns"])
def test_what_is_computed_on_the_way(what):
    m, n = 32, 64
    x, y = numbered((m, n), "fp32"), numbered((m, n) if what == "sum" else (n, m), "fp32")[:, ::-1].copy()
    expected = {"sum": lambda: (x + y).T, "both ways": lambda: x.T + y, "rows": lambda: (x - x.max(axis=1, keepdims=True)).T, "columns": lambda: x.T}
    out = np.empty((n, m), np.float32)
    computed_kernel[(1,)](x, y, out, WHAT=what, M=m, N=n)
    np.testing.assert_array_equal(out, expected[what]())


@triton.jit
def in_place_kernel(x_ptr, out_ptr, M: tl.constexpr):
    i = tl.arange(0, M)
    x = tl.load(x_ptr + i[:, None] * M + i[None, :])
    tl.store(out_ptr + i[:, None] * M + i[None, :], tl.trans(x))


@pytest.mark.parametrize("shift", [None, 0, 1, 500, -500])
def test_results_over_what_is_loaded(shift):
    """All is loaded before anything is stored."""
    m = 32
    memory = numbered((4096,), "fp32")
    x = memory[1024:1024 + m * m]
    out = np.empty(m * m, np.float32) if shift is None else memory[1024 + shift:1024 + shift + m * m]
    expected = x.reshape(m, m).T.copy()
    in_place_kernel[(1,)](x, out, M=m)
    np.testing.assert_array_equal(out.reshape(m, m), expected)


@triton.jit
def batch_kernel(x_ptr, out_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    b, i, j = tl.arange(0, B)[:, None, None], tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + b * M * N + i[None, :, None] * N + j[None, None, :])
    tl.store(out_ptr + b * M * N + j[None, :, None] * M + i[None, None, :], tl.permute(x, (0, 2, 1)))


@pytest.mark.parametrize("b, m, n", [(4, 16, 32), (1, 32, 16), (2, 4, 64), (2, 64, 4)])
def test_of_each_matrix_of_a_batch(b, m, n):
    x, out = numbered((b, m, n), "fp32"), np.empty((b, n, m), np.float32)
    batch_kernel[(1,)](x, out, B=b, M=m, N=n)
    np.testing.assert_array_equal(out, x.transpose(0, 2, 1))
