"""With debug on, additions and multiplications of integers in combine functions are checked, as elsewhere: right results where all fit, an error
that names the type where one does not."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.language.extra import libdevice


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def combine_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.sum(x, 0))
    tl.store(out_ptr + N + i, tl.cumsum(x, 0))
    tl.store(out_ptr + 2 * N + i, tl.cumprod(x, 0))
    tl.store(out_ptr + 3 * N + i, tl.reduce(x, 0, multiply))
    tl.store(out_ptr + 4 * N + i, tl.associative_scan(x, 0, multiply, reverse=True))


@pytest.mark.parametrize("size", [1, 2, 8, 64, 256])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"])
def test_what_fits(dtype, size):
    x = np.ones(size, dtype)
    if size > 4:
        x[3] = 3
    x = x if size < 256 or np.dtype(dtype).itemsize > 1 else np.where(np.arange(size) < 64, x, 0).astype(dtype)
    out = np.zeros((5, size), np.int64)
    combine_kernel[(1,)](x, out, N=size, debug=True)
    wide = x.astype(np.int64)
    np.testing.assert_array_equal(out, [np.full(size, wide.sum()), wide.cumsum(), wide.cumprod(), np.full(size, wide.prod()), wide[::-1].cumprod()[::-1]])


@triton.jit
def rows_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out_ptr + tl.arange(0, M), tl.sum(x, 1))
    tl.store(out_ptr + M + tl.arange(0, N), tl.sum(x, 0))


@pytest.mark.parametrize("rows, columns", [(4, 16), (16, 4), (64, 64)])
def test_rows_and_columns(rows, columns):
    x = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    out = np.zeros(rows + columns, np.int32)
    rows_kernel[(1,)](x, out, M=rows, N=columns, debug=True)
    np.testing.assert_array_equal(out, np.concatenate([x.sum(1), x.sum(0)]))


@triton.jit
def sum_kernel(x_ptr, out_ptr, N: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(x_ptr + tl.arange(0, N)), 0))


@triton.jit
def bools_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.cumsum(tl.load(x_ptr + i), 0) - 1)


def fails(engine, kernel, x, message):
    if engine == "cuda":
        pytest.skip("a failed assertion ends the GPU's context")
    with pytest.raises((RuntimeError, triton.InterpreterError), match=message):
        kernel[(1,)](x, np.zeros(len(x), np.int64), N=len(x), debug=True)


def test_what_does_not_fit(engine):
    fails(engine, sum_kernel, np.full(16, 2**28, np.int32), "int32 overflow detected for operation add")


def test_the_type_is_named(engine):
    fails(engine, bools_kernel, np.zeros(16, np.bool_), "uint32 overflow detected for operation sub")


def test_the_place_is_the_kernels(engine):
    line = sum_kernel.fn.__code__.co_firstlineno + 2
    fails(engine, sum_kernel, np.full(16, 2**28, np.int32), rf"test_debug_combine\.py:{line}:\d+: ")


@triton.jit
def library_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), libdevice.add_rz(x, 2.0**-60) + libdevice.nextafter(x, 9.0))
    tl.store(out_ptr + N + tl.arange(0, N), libdevice.float_as_int(x))


def test_the_integers_of_mathematical_functions_wrap_around():
    x = np.array([0.0, -0.0, 1.0, -1.0, -np.inf, 3.4e38, 1e-45, -1e-45], np.float32)
    out = np.zeros(16, np.float64)
    library_kernel[(1,)](x, out, N=8, debug=True)
    np.testing.assert_array_equal(out[8:], x.view(np.int32))
