"""Functions of elements, concatenated tiles, products with several batch dimensions, and other operations that take tiles apart."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import close, random


@triton.jit
def compared(x, y):
    if x < y:
        return -1
    elif x == y:
        return 0
    else:
        return 1


@triton.jit
def steps_to_one(x):
    steps = 0
    while x > 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    return steps, x


@triton.jit
def divided(a0, a1, b0, b1):
    return a0 // b0, a1 // b1, a0 % b0, a1 % b1


@triton.jit
def exchanged(a, b):
    return b, a


@triton.jit
def map_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    steps, one = tl.map_elementwise(steps_to_one, x)
    quotient, rest = tl.map_elementwise(divided, x, y, pack=2)
    tl.store(out_ptr + i, tl.map_elementwise(compared, x, y))
    tl.store(out_ptr + BLOCK + i, steps + 1000 * one)
    tl.store(out_ptr + 2 * BLOCK + i, quotient)
    tl.store(out_ptr + 3 * BLOCK + i, rest)
    tl.store(out_ptr + 4 * BLOCK + i, tl.map_elementwise(exchanged, x, pack=2)[0])  # a function that returns a tuple gives one, of one tile as well


def collatz(x):
    steps = 0
    while x > 1:
        x, steps = (x // 2 if x % 2 == 0 else 3 * x + 1), steps + 1
    return steps


def test_map_elementwise():
    BLOCK = 256
    x, y = random(BLOCK, "int32", low=1, high=100), random(BLOCK, "int32", seed=1, low=1, high=100)
    out = np.zeros((5, BLOCK), np.int32)
    map_kernel[(1, )](x, y, out, BLOCK)
    np.testing.assert_array_equal(out[0], np.sign(x - y))
    np.testing.assert_array_equal(out[1], [collatz(v) + 1000 for v in x])
    np.testing.assert_array_equal(out[2], x // y)
    np.testing.assert_array_equal(out[3], x % y)
    np.testing.assert_array_equal(out[4], x.reshape(-1, 2)[:, ::-1].ravel())


@triton.jit
def rotated(a, b, c, d):
    return b, c, d, a


@triton.jit
def groups_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] + tl.arange(0, COLUMNS)[None, :] * ROWS  # threads hold parts of columns
    tl.store(out_ptr + at, tl.map_elementwise(rotated, tl.load(x_ptr + at), pack=4)[0])


@pytest.mark.parametrize("rows, columns", [(32, 32), (128, 4), (2, 8), (1, 4)])
def test_groups_are_adjacent_in_rows(rows, columns):
    x = random((columns, rows), "int32", low=1, high=1000)
    out = np.zeros_like(x)
    groups_kernel[(1, )](x, out, rows, columns)
    np.testing.assert_array_equal(out.T.reshape(rows, -1, 4), np.roll(x.T.reshape(rows, -1, 4), -1, axis=2))


@triton.jit
def cat_kernel(x_ptr, y_ptr, out_ptr, SHAPE: tl.constexpr, DIM: tl.constexpr):
    count: tl.constexpr = SHAPE[0] * SHAPE[1] * SHAPE[2]
    i = tl.arange(0, count)
    both = tl.cat(tl.load(x_ptr + i).reshape(SHAPE), tl.load(y_ptr + i).reshape(SHAPE), dim=DIM)
    tl.store(out_ptr + tl.arange(0, 2 * count), both.reshape([2 * count]))


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_cat(dim):
    shape = (4, 2, 8)
    x, y = random(shape, "fp32"), random(shape, "fp32", seed=1)
    out = np.zeros(128, np.float32)
    cat_kernel[(1, )](x, y, out, shape, dim)
    np.testing.assert_array_equal(out, np.concatenate([x, y], axis=dim).ravel())


@triton.jit
def batched_dot_kernel(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 1024)
    x, y = tl.load(x_ptr + i).reshape([2, 2, 16, 16]), tl.load(y_ptr + i).reshape([2, 2, 16, 16])
    z = tl.dot(x, y, input_precision="ieee")
    tl.store(out_ptr + i, z.reshape([1024]))


def test_dot_of_four_dimensions():
    x, y = random((2, 2, 16, 16), "fp16"), random((2, 2, 16, 16), "fp16", seed=1)
    out = np.zeros((2, 2, 16, 16), np.float32)
    batched_dot_kernel[(1, )](x, y, out)
    close(out, x.astype(np.float64) @ y.astype(np.float64), "fp32", terms=16, scale=4)


@triton.jit
def half_sum_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 256)
    x = tl.load(x_ptr + i).reshape([16, 16])
    z = tl.dot(x, x, tl.full([16, 16], 1, tl.float16))
    tl.static_assert(z.dtype == tl.float16)
    tl.store(out_ptr + i, z.reshape([256]))


def test_dot_with_an_fp16_accumulator():
    x = random((16, 16), "fp16")
    out = np.zeros((16, 16), np.float16)
    half_sum_kernel[(1, )](x, out)
    close(out, x.astype(np.float64) @ x.astype(np.float64) + 1, "fp16", terms=16, scale=8)


@triton.jit
def topk_kernel(x_ptr, out_ptr, DESCENDING: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, 4), tl.topk(tl.load(x_ptr + tl.arange(0, 16)), 4, descending=DESCENDING))


@pytest.mark.parametrize("descending", [True, False])
def test_topk(descending):
    x = random(16, "int32", low=0, high=100)
    out = np.zeros(4, np.int32)
    topk_kernel[(1, )](x, out, descending)
    np.testing.assert_array_equal(out, np.sort(x)[::-1][:4] if descending else np.sort(x)[:4])


@triton.jit
def by_name_kernel(x_ptr, out_ptr, FUNCTION: tl.constexpr, RULE: tl.constexpr, GIVEN: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    y = getattr(tl, FUNCTION)(x, 0.5, propagate_nan=getattr(tl.PropagateNan, RULE))
    tl.store(out_ptr + tl.arange(0, 8), y)
    z = getattr(x, "exp" if hasattr(x, "exp") else "nothing")()
    tl.store(out_ptr + 8 + tl.arange(0, 8), tl.maximum(z, 1.0, propagate_nan=GIVEN))
    both = (x > 0).logical_and(x < 1)
    tl.static_assert(tl.core.get_int_dtype(32, signed=True) == tl.int32)
    tl.store(out_ptr + 16 + tl.arange(0, 8), both.to(tl.float32))


@pytest.mark.parametrize("rule", ["NONE", "ALL"])
def test_functions_methods_and_rules_by_name(rule):
    x = random(8, "fp32")
    x[3] = np.nan
    out = np.zeros((3, 8), np.float32)
    by_name_kernel[(1, )](x, out, "minimum", rule, getattr(tl.PropagateNan, rule))
    smaller, larger = (np.fmin, np.fmax) if rule == "NONE" else (np.minimum, np.maximum)
    np.testing.assert_array_equal(out[0], smaller(x, np.float32(0.5)))
    np.testing.assert_allclose(out[1], larger(np.exp(x), np.float32(1)), rtol=1e-5)
    np.testing.assert_array_equal(out[2], (x > 0) & (x < 1))


@triton.jit
def gathered(a, pointer):
    if a % 2 == 0:
        a += tl.load(pointer)
    return a


@triton.jit
def ordered_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for step in range(3):
        total += tl.map_elementwise(gathered, i, x_ptr + (N - 1 - i))
        tl.store(x_ptr + i, i * 10 + step)
    tl.store(x_ptr + i, i)
    total += tl.map_elementwise(gathered, i, x_ptr + (N - 1 - i))
    tl.store(out_ptr + i, total)


@pytest.mark.parametrize("size", [16, 128, 1024])
def test_loads_of_a_mapped_function_are_in_program_order(size):
    """Each element is loaded by another thread than the one that stores it."""
    i = np.arange(size, dtype=np.int32)
    x, out = i % 7, np.zeros(size, np.int32)
    loaded = (i % 7)[::-1] + (i * 10)[::-1] + (i * 10 + 1)[::-1] + i[::-1]
    ordered_kernel[(1,)](x, out, N=size)
    np.testing.assert_array_equal(out, 4 * i + np.where(i % 2 == 0, loaded, 0))
