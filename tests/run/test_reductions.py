"""Reductions: all operators, axes, dtypes and shapes; user-written combinations; ties and NaN."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, ON_GPU, close, is_float, random, wide


@triton.jit
def columns_kernel(x_ptr, out, rows, columns, FORM: tl.constexpr, X: tl.constexpr, R: tl.constexpr):
    """For each column of a row-major matrix: its sum and maximum, in tiles of [X, R] whose first dimension lies together in memory."""
    x = tl.program_id(0) * X + tl.arange(0, X)[:, None]
    total = tl.full([X, R], 1, tl.float32)
    maximum = tl.full([X, R], -100, tl.float32)
    for start in range(0, rows, R):
        r = start + tl.arange(0, R)[None, :]
        mask = (r < rows) & (x < columns)
        value = tl.load(x_ptr + r * columns + x, mask=mask, other=0)
        total = tl.where(mask, total + value, total)
        maximum = tl.where(mask, tl.maximum(maximum, value), maximum)
        if FORM == "nested":
            for _ in range(2):
                total += tl.where(mask, value, 0)
    if FORM == "transposed":
        total = tl.trans(tl.trans(total) * 2) / 2
    elif FORM == "reshaped":
        total = tl.reshape(tl.reshape(total, [R, X]), [X, R])
    elif FORM == "scanned":
        total = tl.where(tl.arange(0, R)[None, :] == R - 1, tl.cumsum(total, 1), 0)
    where = x < columns
    tl.store(out + x, tl.sum(total, 1)[:, None] - R, mask=where)
    tl.store(out + columns + x, tl.max(maximum, 1)[:, None], mask=where)


@triton.jit
def reduce_1d_kernel(x_ptr, out_ptr, n, fill, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=fill)
    if OP == "sum":
        z = tl.sum(x)
    elif OP == "max":
        z = tl.max(x)
    elif OP == "min":
        z = tl.min(x)
    elif OP == "argmax":
        z = tl.argmax(x, axis=0)
    elif OP == "argmin":
        z = tl.argmin(x, axis=0)
    else:
        z = tl.xor_sum(x)
    tl.store(out_ptr, z)


# Sums of narrow integers widen to 32 bits, and maxima of narrow floats to fp32.
RESULT = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}


@pytest.mark.without_debug
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "fp16", "bf16", "fp32", "fp64"])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
@pytest.mark.parametrize("n", [1, 100, 1024])
def test_one_dimension(op, dtype, n):
    x = random(n, dtype, 1)
    function = {"sum": np.sum, "max": np.max, "min": np.min}[op]
    fill = 0 if op == "sum" else wide(x)[0].item()
    result = RESULT.get(dtype, dtype)
    out = np.zeros(1, DTYPES[result])
    reduce_1d_kernel[(1,)](x, out, n, fill, OP=op, BLOCK=triton.next_power_of_2(n))
    expected = np.array(function(wide(x))).astype(DTYPES[result]) if not is_float(dtype) else function(wide(x))
    close(out[0], expected, result, terms=n)


@pytest.mark.parametrize("dtype", ["int32", "fp16", "fp32"])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_arg(op, dtype):
    x = random(1000, dtype, 1) if dtype != "int32" else random(1000, dtype, 1, -20, 20)  # many ties: the first one wins
    x[[300, 600]] = x.max() if op == "argmax" else x.min()
    out = np.zeros(1, np.int32)
    reduce_1d_kernel[(1,)](x, out, 1000, wide(x)[0].item(), OP=op, BLOCK=1024)
    assert out[0] == (np.argmax(x) if op == "argmax" else np.argmin(x))


@triton.jit
def reduce_rows_kernel(x_ptr, sum_ptr, arg_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    kept = tl.arange(0, ROWS if AXIS == 1 else COLUMNS)
    tl.store(sum_ptr + kept, tl.sum(x, axis=AXIS))
    tl.store(arg_ptr + kept, tl.argmax(x, axis=AXIS))


@pytest.mark.parametrize("warps", [8, 16, 32])
@pytest.mark.parametrize("shape", [(1, 4096), (2, 2048), (64, 128), (512, 16)])
@pytest.mark.parametrize("axis", [0, 1])
def test_many_warps(shape, axis, warps):
    """With many warps along the axis, the lanes that hold copies of a result share the reads."""
    x = random(shape, "int32", 3, -40, 40)  # exact sums, and ties
    sums, args = (np.full(shape[1 - axis], -1, np.int32) for _ in range(2))
    reduce_rows_kernel[(1,)](x, sums, args, *shape, AXIS=axis, num_warps=warps)
    np.testing.assert_array_equal(sums, x.sum(axis))
    np.testing.assert_array_equal(args, x.argmax(axis))


def test_xor():
    x = random(256, "int32", 1)
    out = np.zeros(1, np.int32)
    reduce_1d_kernel[(1,)](x, out, 256, 0, OP="xor", BLOCK=256)
    assert out[0] == np.bitwise_xor.reduce(x)


@triton.jit
def all_bits(a, b):
    return a & b


@triton.jit
def any_bits(a, b):
    return a | b


@triton.jit
def combine_kernel(x_ptr, out_ptr, COMBINE: tl.constexpr, BLOCK: tl.constexpr):
    tl.store(out_ptr, tl.reduce(tl.load(x_ptr + tl.arange(0, BLOCK)), 0, COMBINE))


@pytest.mark.parametrize("combine, function", [(all_bits, np.bitwise_and), (any_bits, np.bitwise_or)])
def test_bits(combine, function):
    """Lanes of a warp combine 32-bit integers in one instruction."""
    x = np.random.default_rng(1).integers(0, 2**31, 512, dtype=np.int32)
    x = x | 0x10010 if combine is all_bits else x & 0x10010
    out = np.zeros(1, np.int32)
    combine_kernel[(1,)](x, out, combine, BLOCK=512)
    assert out[0] == function.reduce(x)


@triton.jit
def reduce_2d_kernel(x_ptr, sum_ptr, max_ptr, arg_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    kept = tl.arange(0, N if AXIS == 0 else M)
    tl.store(sum_ptr + kept, tl.sum(x, axis=AXIS))
    best, where = tl.max(x, axis=AXIS, return_indices=True)
    tl.store(max_ptr + kept, best)
    tl.store(arg_ptr + kept, where)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 1), (1, 64), (64, 1), (4, 8), (32, 128), (128, 16)])
def test_two_dimensions(shape, axis):
    x = random(shape, "fp32", 1)
    kept = shape[1 - axis]
    total, best, where = np.zeros(kept, np.float32), np.zeros(kept, np.float32), np.zeros(kept, np.int32)
    reduce_2d_kernel[(1,)](x, total, best, where, M=shape[0], N=shape[1], AXIS=axis)
    close(total, wide(x).sum(axis), "fp32", terms=shape[axis])
    np.testing.assert_array_equal(best, x.max(axis))
    np.testing.assert_array_equal(where, x.argmax(axis))


@triton.jit
def reduce_3d_kernel(x_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    x = tl.load(x_ptr + a * B * C + b * C + c)
    y = tl.sum(x, axis=1, keep_dims=True)
    tl.store(out_ptr + a * C + c, y)


def test_three_dimensions_keeping_one():
    x = random((4, 8, 16), "fp32", 1)
    out = np.zeros((4, 1, 16), np.float32)
    reduce_3d_kernel[(1,)](x, out, A=4, B=8, C=16)
    close(out, wide(x).sum(1, keepdims=True), "fp32", terms=8)


@triton.jit
def merge_moments(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def custom_kernel(x_ptr, mean_ptr, var_ptr, multiplied_ptr, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + rows * n + offsets, mask=mask, other=0.0)
    mean, m2, count = tl.reduce((x, tl.zeros_like(x), mask.to(tl.float32)), 0, merge_moments)
    tl.store(mean_ptr + rows, mean)
    tl.store(var_ptr + rows, m2 / count)
    tl.store(multiplied_ptr + rows, tl.reduce(tl.where(mask, x, 1.0), 0, product))


@triton.jit
def moments_kernel(x_ptr, mean_ptr, m2_ptr, centered_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    where = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + where)
    mean, m2, count = tl.reduce((x, tl.zeros_like(x), tl.full([M, N], 1, tl.float32)), AXIS, merge_moments)
    kept = tl.arange(0, N if AXIS == 0 else M)
    tl.store(mean_ptr + kept, mean)
    tl.store(m2_ptr + kept, m2 / count)
    tl.store(centered_ptr + where, x - tl.expand_dims(mean, AXIS))


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("shape", [(8, 64), (64, 8), (16, 256), (128, 16), (2, 512)])
@pytest.mark.parametrize("axis", [0, 1])
def test_moments_of_rows_and_columns(axis, shape, warps):
    """Lanes and warps share the combination of three values; every thread needs the results afterwards."""
    x = random(shape, "fp32", 1)
    mean, variance, centered = np.zeros(shape[1 - axis], np.float32), np.zeros(shape[1 - axis], np.float32), np.zeros(shape, np.float32)
    moments_kernel[(1,)](x, mean, variance, centered, *shape, AXIS=axis, num_warps=warps)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(axis), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, exact.var(axis), rtol=1e-5)
    np.testing.assert_array_equal(centered, x - np.expand_dims(mean, axis))


@triton.jit
def merge_mixed(sum_a, largest_a, any_a, odd_a, low_a, sum_b, largest_b, any_b, odd_b, low_b):
    return sum_a + sum_b, tl.maximum(largest_a, largest_b), any_a | any_b, odd_a ^ odd_b, tl.minimum(low_a, low_b)


@triton.jit
def mixed_kernel(x_ptr, sum_ptr, largest_ptr, any_ptr, odd_ptr, low_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    total, largest, any_, odd, low = tl.reduce((x.to(tl.float32), x, x > 98, x.to(tl.int8), x.to(tl.float16)), AXIS, merge_mixed)
    kept = tl.arange(0, N if AXIS == 0 else M)
    tl.store(sum_ptr + kept, total)
    tl.store(largest_ptr + kept, largest)
    tl.store(any_ptr + kept, any_.to(tl.int32))
    tl.store(odd_ptr + kept, odd)
    tl.store(low_ptr + kept, low)


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("shape", [(4, 256), (64, 32)])
@pytest.mark.parametrize("axis", [0, 1])
def test_values_of_several_types(axis, shape, warps):
    """Partial values of 32, 16, 8 and 1 bits."""
    x = random(shape, "int32", 1, -100, 100)
    total, largest, any_, odd, low = (np.zeros(shape[1 - axis], t) for t in [np.float32, np.int32, np.int32, np.int8, np.float16])
    mixed_kernel[(1,)](x, total, largest, any_, odd, low, *shape, AXIS=axis, num_warps=warps)
    np.testing.assert_array_equal(total, x.sum(axis))
    np.testing.assert_array_equal(largest, x.max(axis))
    np.testing.assert_array_equal(any_, (x > 98).any(axis))
    np.testing.assert_array_equal(odd, np.bitwise_xor.reduce(x.astype(np.int8), axis))
    np.testing.assert_array_equal(low, x.min(axis))


@triton.jit
def integers_kernel(x_ptr, multiplied_ptr, largest_ptr, M: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(multiplied_ptr + tl.arange(0, M), tl.reduce(x, 1, product))
    tl.store(largest_ptr + tl.arange(0, M), tl.max(x, 1))


@pytest.mark.parametrize("shape, warps", [((8, 128), 1), ((16, 512), 4)])
def test_integers_of_several_rows_in_each_lane(shape, warps):
    """A redux has no product, and some GPUs have no redux: then lanes halve their rows."""
    x = random(shape, "int32", 1, -100, 100) | 1
    products, largest = np.zeros(shape[0], np.int32), np.zeros(shape[0], np.int32)
    integers_kernel[(1,)](x, products, largest, *shape, num_warps=warps)
    np.testing.assert_array_equal(products, np.multiply.reduce(x, 1, dtype=np.int32))
    np.testing.assert_array_equal(largest, x.max(1))


def test_combinations_written_by_the_user():
    x = random((5, 100), "fp32", 1, 0.9, 1.1)
    mean, var, total = (np.zeros(5, np.float32) for _ in range(3))
    custom_kernel[(5,)](x, mean, var, total, 100, BLOCK=128)
    close(mean, wide(x).mean(1), "fp32", terms=100)
    close(var, wide(x).var(1), "fp32", terms=100)
    close(total, wide(x).prod(1), "fp32", terms=100)


def test_maximum_ignores_nan():
    x = random(64, "fp32", 1)
    x[::3] = np.nan
    out = np.zeros(1, np.float32)
    reduce_1d_kernel[(1,)](x, out, 64, 0.0, OP="max", BLOCK=64)
    assert out[0] == np.nanmax(x)


# NaN is the worst start for every partial result: NaN alone gives NaN, and NaN with the neutral number gives that number.
@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("n", [8, 64, 1000, 1024])
@pytest.mark.parametrize("op", ["max", "min"])
def test_extremes_among_nan(op, n, dtype):
    empty, block = (-np.inf if op == "max" else np.inf), triton.next_power_of_2(n)
    type = {"fp32": np.float32, "fp64": np.float64}[dtype]
    for numbers in [{}, {n - 1: empty}, {0: empty}, {n // 2: 2.5}, {n - 1: -3.0, 1: empty}, {5: -empty}]:
        x = np.full(n, np.nan, type)
        for index, number in numbers.items():
            x[index] = number
        out = np.zeros(1, type)
        reduce_1d_kernel[(1,)](x, out, n, float("nan"), OP=op, BLOCK=block)
        expected = {"max": max, "min": min}[op](numbers.values(), default=np.nan)
        np.testing.assert_array_equal(out[0], type(expected))


@triton.jit
def square_softmax_kernel(x_ptr, out_ptr, DIM: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.softmax(tl.load(x_ptr + at), DIM))


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_a_square_tile(dim):
    """If the dimension were ignored, the rows' sums would broadcast along the columns."""
    x = random((16, 16), "fp32", 1)
    out = np.zeros_like(x)
    square_softmax_kernel[(1,)](x, out, DIM=dim, N=16)
    weights = np.exp(wide(x))
    np.testing.assert_allclose(out, weights / weights.sum(axis=dim, keepdims=True), rtol=1e-6)


@triton.jit
def softmax_rows_kernel(x_ptr, numerator_ptr, max_ptr, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr, BASE_TWO: tl.constexpr):
    rows, offsets = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    at = rows[:, None] * columns + offsets[None, :]
    mask = offsets[None, :] < columns
    x = tl.load(x_ptr + at, mask=mask, other=-float("inf"))
    top = tl.max(x, axis=1)
    if BASE_TWO:
        numerator = tl.exp2(x - top[:, None])
    else:
        numerator = tl.exp(x - top[:, None])
    tl.store(numerator_ptr + at, numerator, mask=mask)
    tl.store(max_ptr + rows, top)


# Rows of ordinary numbers, results below the smallest normal number, infinities of both signs, and NaN.
@pytest.mark.parametrize("base_two", [False, True])
@pytest.mark.parametrize("columns", [16, 100, 256])
def test_exponentials_up_to_one(columns, base_two, engine):
    x = random((8, columns), "fp32", 1, -5, 5)
    x[1] = np.linspace(-160, 0, columns, dtype=np.float32)
    x[2, ::2] = -np.inf
    x[3] = -np.inf
    x[4, 1::3] = np.nan
    x[5] = np.nan
    x[6, 3] = np.inf
    x[7] = np.linspace(-3e38, 3e38, columns, dtype=np.float32)
    numerator, top = np.zeros_like(x), np.zeros(8, np.float32)
    softmax_rows_kernel[(1,)](x, numerator, top, columns, ROWS=8, BLOCK=triton.next_power_of_2(columns), BASE_TWO=base_two)
    expected_top = np.fmax.reduce(x, axis=1)
    if columns != triton.next_power_of_2(columns):
        expected_top[5] = -np.inf  # from beyond the row's end
    np.testing.assert_array_equal(top, expected_top)
    with np.errstate(all="ignore"):
        difference = x - expected_top[:, None]
        expected = (np.exp2 if base_two else np.exp)(wide(difference))
    # On GPUs, results below the smallest normal number become zero, as upstream's do, and e^x of a difference is 2^(x log2 e), rounded.
    exact = engine not in ON_GPU or base_two
    with np.errstate(all="ignore"):
        rounded = 0 if exact else 2.0**-23 * expected * np.minimum(np.abs(difference), 200)
        allowed = 3e-7 * expected + rounded + (1.2e-38 if engine in ON_GPU else 3e-45)
        same = np.isnan(numerator) == np.isnan(expected)
        assert (same & ~(np.abs(numerator - expected) > allowed)).all()


@pytest.mark.parametrize("n", [32768, 65536])
def test_a_long_row(n):
    x = random(n, "fp32", 1)
    out = np.zeros(1, np.float32)
    reduce_1d_kernel[(1,)](x, out, n, 0.0, OP="sum", BLOCK=n)
    close(out[0], wide(x).sum(), "fp32", terms=n)


@pytest.mark.parametrize("values", [
    [np.nan, 6, 8], [3, 5, np.nan], [np.nan, 3, np.nan], [3, np.nan, 5], [np.nan, np.nan, 2, 1], [1, 2, 3, np.nan, 7, np.nan, 0],
    [np.nan] * 40 + [5, 5] + [np.nan] * 40,
])
@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_a_nan_is_never_the_first_of_an_order(op, values):
    x, out = np.array(values, np.float32), np.zeros(1, np.int32)
    reduce_1d_kernel[(1,)](x, out, x.size, -np.inf if op == "argmax" else np.inf, OP=op, BLOCK=128)
    assert out[0] == (np.nanargmax(x) if op == "argmax" else np.nanargmin(x))


@triton.jit
def largest_nan_first(a, i, b, j):
    wins = a > b or (a != a and b == b)
    wins = wins or ((a == b or (a != a and b != b)) and i < j)
    return tl.where(wins, a, b), tl.where(wins, i, j)


@triton.jit
def smallest_last(a, i, b, j):
    wins = a < b or (a == b and i > j)
    return tl.where(wins, a, b), tl.where(wins, i, j)


@triton.jit
def largest_any(a, i, b, j):
    return tl.where(a > b, a, b), tl.where(a > b, i, j)


@triton.jit
def larger_by_the_way(a, i, b, j):
    later = tl.where(b >= a, j, i)
    return tl.where(b >= a, b, a), tl.where(a == b, tl.maximum(i, j), later)


@triton.jit
def pick_kernel(x_ptr, value_ptr, index_ptr, ROWS: tl.constexpr, N: tl.constexpr, COMBINE: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, N)
    x = tl.load(x_ptr + rows[:, None] * N + columns[None, :])
    value, index = tl.reduce((x, tl.broadcast_to(columns[None, :], (ROWS, N))), 1, COMBINE)
    tl.store(value_ptr + rows, value)
    tl.store(index_ptr + rows, index)


def picked(x, combine, warps=4):
    value, index = np.zeros(len(x), x.dtype), np.full(len(x), -1, np.int32)
    pick_kernel[(1,)](x, value, index, *x.shape, COMBINE=combine, num_warps=warps)
    return value, index


@pytest.mark.parametrize("warps", [1, 4])
@pytest.mark.parametrize("shape", [(1, 8), (1, 512), (4, 32), (4, 256), (64, 16)])
@pytest.mark.parametrize("dtype", ["fp32", "fp16", "int8", "uint8", "int32", "uint32"])
def test_picks_of_pairs(dtype, shape, warps):
    """Ties, and numbers on both sides of what the comparison must not confuse: of the sign, and of unsigned numbers."""
    x = np.round(random(shape, "fp32", 2) * 3).astype(DTYPES[dtype]) if is_float(dtype) else random(shape, dtype, 2)
    x[:, ::3] = x[:, :1]
    last = lambda places: shape[1] - 1 - places[:, ::-1].argmax(1)
    for combine, best, places in [
            (largest_nan_first, x.max(1), x.argmax(1)), (smallest_last, x.min(1), last(x == x.min(1)[:, None])),
            (larger_by_the_way, x.max(1), last(x == x.max(1)[:, None]))]:
        value, index = picked(x, combine, warps)
        np.testing.assert_array_equal(value, best)
        np.testing.assert_array_equal(index, places)
    value, index = picked(x, largest_any, warps)
    np.testing.assert_array_equal(value, x.max(1))
    np.testing.assert_array_equal(x[np.arange(len(x)), index], x.max(1))


@pytest.mark.parametrize("dtype", ["fp32", "fp16"])
def test_a_pick_has_the_bits_of_its_place(dtype):
    """Zeros of both signs are equal, and the result has the sign of the one that is picked; infinities; a NaN where the region wants it first."""
    x = np.full((8, 256), -np.inf, DTYPES[dtype])
    x[0, [7, 70, 200]] = [-0.0, 0.0, -0.0]
    x[1, [7, 70, 200]] = [0.0, -0.0, 0.0]
    x[2, [70, 7, 200]] = [np.inf, 3, np.inf]
    x[3, [70, 200]] = [np.nan, -np.nan]
    x[4] = np.nan
    x[5] = np.copysign(np.nan, -1)
    x[6, [9, 200]] = -3
    value, index = picked(x, largest_nan_first)
    np.testing.assert_array_equal(index, [7, 7, 70, 70, 0, 0, 9, 0])
    np.testing.assert_array_equal(value, x[np.arange(8), index])
    assert (np.signbit(value[:2]) == [True, False]).all()


def test_equal_indices():
    x = np.zeros((1, 128), np.float32)
    x[0, 5::9] = 4
    value, index = np.zeros(1, np.float32), np.zeros(1, np.int32)
    equal_indices_kernel[(1,)](x, value, index, N=128)
    assert (value[0], index[0]) == (4, 2**31 - 1)


@triton.jit
def equal_indices_kernel(x_ptr, value_ptr, index_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    value, index = tl.reduce((tl.load(x_ptr + at), tl.where(at == 3, 7, 2147483647)), 0, largest_nan_first)
    tl.store(value_ptr, value)
    tl.store(index_ptr, index)


@triton.jit
def sums_of_a_loop_kernel(x_ptr, columns_ptr, rows_ptr, total_ptr, max_ptr, steps, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    of_columns, of_rows, total, maximum = tl.full((COLUMNS,), 5, x_ptr.dtype.element_ty), tl.zeros((ROWS,), x_ptr.dtype.element_ty), 3, 0
    for step in range(steps):
        x = tl.load(x_ptr + step * ROWS * COLUMNS + rows[:, None] * COLUMNS + columns[None, :])
        of_columns += tl.sum(x, 0).to(x.dtype)
        of_rows = tl.sum(x, 1).to(x.dtype) + of_rows
        total += tl.sum(x.to(tl.int32))
        maximum = tl.maximum(maximum, tl.sum(tl.sum(x.to(tl.int32), 0)))  # the loop looks at it
    tl.store(columns_ptr + columns, of_columns)
    tl.store(rows_ptr + rows, of_rows)
    tl.store(total_ptr, total)
    tl.store(max_ptr, maximum)


@pytest.mark.parametrize("steps", [0, 1, 7])
@pytest.mark.parametrize("shape", [(128, 64), (32, 256), (4, 8), (1, 512)])
@pytest.mark.parametrize("dtype", ["fp32", "int32"])
@pytest.mark.parametrize("warps", [1, 8])
def test_sums_of_a_loop(warps, dtype, shape, steps):
    """A loop that only adds up sums: its result is the initial value and the sum over everything, also where there is no iteration."""
    x = random((steps, *shape), "int32", 1, -9, 10).astype(DTYPES[dtype])  # exact in any order
    columns, rows = np.zeros(shape[1], x.dtype), np.zeros(shape[0], x.dtype)
    total, maximum = np.zeros(1, np.int32), np.zeros(1, np.int32)
    sums_of_a_loop_kernel[(1,)](x, columns, rows, total, maximum, steps, *shape, num_warps=warps)
    np.testing.assert_array_equal(columns, 5 + x.sum((0, 1)))
    np.testing.assert_array_equal(rows, x.sum((0, 2)))
    assert total[0] == 3 + x.sum() and maximum[0] == max([0, *x.sum((1, 2))])


@triton.jit
def ones_kernel(out_ptr, DTYPE: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.full((32, 32), 1.0, dtype=DTYPE)))


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_a_sum_in_few_bits_does_not_stop_growing(dtype):
    # Added one by one, 257 ones are 256 in bf16. Adding pairs of sums of the same size loses nothing.
    out = np.zeros(1, DTYPES[dtype])
    ones_kernel[(1,)](out, DTYPE={"bf16": tl.bfloat16, "fp16": tl.float16}[dtype])
    assert float(out[0]) == 1024


@triton.jit
def norm_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + columns, mask=columns < n, other=0.0).to(tl.float32)
    centred = tl.where(columns < n, x - tl.sum(x, axis=0) / n, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / n)
    tl.store(y_ptr + tl.program_id(0) * n + columns, (centred * rstd).to(y_ptr.dtype.element_ty), mask=columns < n)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("n", [16384, 9000, 8193])
def test_a_long_row_of_few_bits_is_reduced_twice(n, in_place):
    # On GPUs, such a row is kept in shared memory if it can be copied by vectors of 16 bytes: not if rows have 8193 elements.
    x = random((2, n), "fp16", 1)
    want = (wide(x) - wide(x).mean(axis=1, keepdims=True)) / wide(x).std(axis=1, keepdims=True)
    out = x.copy() if in_place else np.zeros_like(x)
    norm_kernel[(2,)](out if in_place else x, out, n, BLOCK=16384, num_warps=4)
    close(out, want, "fp16", terms=8)


@pytest.mark.parametrize("form", ["plain", "nested", "transposed", "reshaped", "scanned"])
@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 40), (64, 64), (33, 100), (0, 5)])
@pytest.mark.parametrize("x, r", [(8, 4), (16, 16), (64, 4), (4, 32), (32, 1)])
def test_columns_in_a_loop(form, rows, columns, x, r):
    matrix = np.random.default_rng(rows).integers(-9, 9, (rows, columns)).astype(np.float32)
    out = np.full(2 * columns + 3, 5, np.float32)
    columns_kernel[(triton.cdiv(columns, x),)](matrix, out, rows, columns, FORM=form, X=x, R=r)
    np.testing.assert_array_equal(out[:columns], matrix.sum(0) * (3 if form == "nested" else 1))
    np.testing.assert_array_equal(out[columns:-3], matrix.max(0) if rows else np.full(columns, -100))
    assert (out[-3:] == 5).all()
