"""Operators, mathematical functions and conversions, one element at a time."""

import math

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, FLOATS, INTEGERS, close, random, wide

SIZE = 237  # elements of a block of 256


@triton.jit
def binary_kernel(x_ptr, y_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1)
    y = tl.load(y_ptr + offsets, mask=mask, other=1)
    if OP == "+":
        z = x + y
    elif OP == "-":
        z = x - y
    elif OP == "*":
        z = x * y
    elif OP == "/":
        z = x / y
    elif OP == "//":
        z = x // y
    elif OP == "%":
        z = x % y
    elif OP == "&":
        z = x & y
    elif OP == "|":
        z = x | y
    elif OP == "^":
        z = x ^ y
    elif OP == "<<":
        z = x << y
    elif OP == ">>":
        z = x >> y
    elif OP == "<":
        z = x < y
    elif OP == "<=":
        z = x <= y
    elif OP == "==":
        z = x == y
    elif OP == "!=":
        z = x != y
    elif OP == "min":
        z = tl.minimum(x, y)
    else:
        z = tl.maximum(x, y)
    tl.store(out_ptr + offsets, z, mask=mask)


def binary(op, x, y, dtype):
    out = np.zeros(x.shape, DTYPES[dtype])
    binary_kernel[(1,)](x, y, out, x.size, OP=op, BLOCK=256)
    return out


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", ["+", "-", "*", "/", "min", "max"])
def test_float_arithmetic(op, dtype):
    x, y = random(SIZE, dtype, 1), random(SIZE, dtype, 2)
    y[np.abs(y) < 0.1] = 0.5
    functions = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "min": np.minimum, "max": np.maximum}
    close(binary(op, x, y, dtype), functions[op](wide(x), wide(y)), dtype)


@pytest.mark.without_debug
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", ["+", "-", "*", "&", "|", "^", "min", "max"])
def test_integer_arithmetic_wraps(op, dtype):
    x, y = random(SIZE, dtype, 1), random(SIZE, dtype, 2)
    functions = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
                 "min": np.minimum, "max": np.maximum}
    close(binary(op, x, y, dtype), functions[op](x, y), dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_division_truncates(dtype):
    x, y = random(SIZE, dtype, 1), random(SIZE, dtype, 2, 1, 100)
    if not dtype.startswith("u"):
        y[::2] *= -1
    exact = [(int(a), int(b)) for a, b in zip(x, y)]
    quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in exact]
    close(binary("//", x, y, dtype), np.array(quotients, object).astype(DTYPES[dtype]), dtype)
    remainders = [a - b * q for (a, b), q in zip(exact, quotients)]
    close(binary("%", x, y, dtype), np.array(remainders, object).astype(DTYPES[dtype]), dtype)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16", "uint32", "uint64"])
def test_shifts(dtype):
    x, y = random(SIZE, dtype, 1), random(SIZE, dtype, 2, 0, 15)
    close(binary("<<", x, y, dtype), x << y, dtype)
    close(binary(">>", x, y, dtype), x >> y, dtype)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32", "fp16", "fp32", "fp64"])
@pytest.mark.parametrize("op", ["<", "<=", "==", "!="])
def test_comparisons(op, dtype):
    x, y = random(SIZE, dtype, 1), random(SIZE, dtype, 2)
    y[::3] = x[::3]
    if dtype.startswith("fp"):
        x[::7] = np.nan
    functions = {"<": np.less, "<=": np.less_equal, "==": np.equal, "!=": np.not_equal}
    close(binary(op, x, y, "int1"), functions[op](x, y), "int1")


@triton.jit
def unary_kernel(x_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=1)
    if OP == "exp":
        z = tl.exp(x)
    elif OP == "exp2":
        z = tl.exp2(x)
    elif OP == "log":
        z = tl.log(x)
    elif OP == "log2":
        z = tl.log2(x)
    elif OP == "sin":
        z = tl.sin(x)
    elif OP == "cos":
        z = tl.cos(x)
    elif OP == "sqrt":
        z = tl.sqrt(x)
    elif OP == "rsqrt":
        z = tl.rsqrt(x)
    elif OP == "erf":
        z = tl.erf(x)
    elif OP == "floor":
        z = tl.floor(x)
    elif OP == "ceil":
        z = tl.ceil(x)
    elif OP == "sigmoid":
        z = tl.sigmoid(x)
    elif OP == "abs":
        z = tl.abs(x)
    elif OP == "-":
        z = -x
    else:
        z = ~x
    tl.store(out_ptr + offsets, z, mask=mask)


def unary(op, x):
    out = np.zeros(x.shape, x.dtype)
    unary_kernel[(1,)](x, out, x.size, OP=op, BLOCK=256)
    return out


MATH = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "erf": np.vectorize(math.erf), "floor": np.floor, "ceil": np.ceil,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "abs": np.abs, "-": np.negative,
}


@pytest.mark.parametrize("dtype", ["fp32", "fp64"])
@pytest.mark.parametrize("op", list(MATH))
def test_functions(op, dtype):
    x = random(SIZE, dtype, 1)
    if op in ("log", "log2", "sqrt", "rsqrt"):
        x = np.abs(x)
    close(unary(op, x), MATH[op](wide(x)), dtype)


@pytest.mark.parametrize("op", ["exp", "exp2", "log", "log2", "sqrt"])
def test_functions_at_the_borders(op):
    inf, nan = np.inf, np.nan
    more = [-inf, -3.4e38, 88.0, 88.7, 89.0, 1e8, -87.0, -100.0, -150.0, -1e8] if "exp" in op else [-1.0]
    x = np.array([0.0, -0.0, 1.0, inf, nan, 3.4e38, 1e-40, 1e-45, *more], np.float32)
    with np.errstate(all="ignore"):
        expected = MATH[op](wide(x)).astype(np.float32)
    # A subnormal result may be off by one in its own last digit.
    np.testing.assert_allclose(unary(op, x), expected, rtol=2e-6, atol=3e-45)


def test_exp_everywhere():
    x = np.linspace(-87.3, 88.7, 256 * 16).astype(np.float32).reshape(16, 256)
    result = np.stack([unary("exp", row) for row in x])
    np.testing.assert_allclose(result, np.exp(wide(x)), rtol=4e-7)
    assert unary("exp", np.zeros(1, np.float32))[0] == 1  # exactly


@pytest.mark.without_debug
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_unary(dtype):
    x = random(SIZE, dtype, 1)
    close(unary("~", x), ~x, dtype)
    close(unary("-", x), np.negative(x), dtype)


@triton.jit
def cast_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def types_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 4)[:, None] + tl.arange(0, 2)[None, :])
    tl.static_assert(x.type.nbytes == 32 and (x_ptr + tl.arange(0, 4)).type.nbytes == 32)
    tl.static_assert(x.type.with_element_ty(tl.int8) == tl.zeros([4, 2], tl.int8).type and x.dtype.with_element_ty(tl.int8) == tl.int8)
    tl.static_assert(not x.type.is_floating() and x.dtype.is_floating() and x.type.scalar.is_fp32() and not x.type.is_fp32())
    tl.store(out_ptr + tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :], x + tl.full(x.type.get_block_shapes(), 1, tl.int32))


def test_what_a_type_says():
    x, out = random(8, "fp32", 1), np.zeros((4, 2), np.float32)
    types_kernel[(1,)](x, out)
    np.testing.assert_array_equal(out, x[np.arange(4)[:, None] + np.arange(2)] + 1)


CAST = ["int8", "int32", "int64", "uint8", "uint32", "fp16", "bf16", "fp32", "fp64"]


@pytest.mark.parametrize("target", CAST)
@pytest.mark.parametrize("source", CAST)
def test_casts(source, target):
    x = random(SIZE, source, 1, 0, 100)
    out = np.zeros(SIZE, DTYPES[target])
    cast_kernel[(1,)](x, out, SIZE, BLOCK=256)
    close(out, x.astype(DTYPES[target]), target)
    if target in FLOATS:  # conversions are rounded correctly, and exactly where they can be
        np.testing.assert_array_equal(out, x.astype(DTYPES[target]))


@pytest.mark.parametrize("narrow", ["fp8e5", "fp8e4nv"])
def test_casts_of_fp8(narrow):
    values = np.arange(256, dtype=np.uint8).view(DTYPES[narrow])
    values = values[np.isfinite(wide(values))]
    out = np.zeros(values.size, np.float32)
    cast_kernel[(1,)](values, out, values.size, BLOCK=256)
    np.testing.assert_array_equal(out, values.astype(np.float32))
    back = np.zeros(SIZE, DTYPES[narrow])
    x = random(SIZE, "fp32", 1)
    cast_kernel[(1,)](x, back, SIZE, BLOCK=256)
    np.testing.assert_array_equal(wide(back), wide(x.astype(DTYPES[narrow])))


@triton.jit
def rounded_kernel(x_ptr, out_ptr, n, ROUNDING: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x.to(out_ptr.dtype.element_ty, fp_downcast_rounding=ROUNDING), mask=offsets < n)


@pytest.mark.parametrize("target", ["fp32", "fp16"])
@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
def test_a_rounding_that_is_named(rounding, target):
    """If the type stays the same, there is nothing to round, and naming a rounding is not an error."""
    x = random(SIZE, "fp32", 1)
    out = np.zeros(SIZE, DTYPES[target])
    rounded_kernel[(1,)](x, out, SIZE, ROUNDING=rounding, BLOCK=256)
    expected = x.astype(DTYPES[target])
    if rounding == "rtz":
        away = np.abs(expected.astype(np.float64)) > np.abs(x)
        expected = np.where(away, np.nextafter(expected, DTYPES[target](0)), expected)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def select_kernel(c_ptr, x_ptr, y_ptr, where_ptr, clamp_ptr, fma_ptr, nan_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    c = tl.load(c_ptr + offsets, mask=mask, other=0)
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(where_ptr + offsets, tl.where(c != 0, x, y), mask=mask)
    tl.store(clamp_ptr + offsets, tl.clamp(x, -0.5, 0.5), mask=mask)
    tl.store(fma_ptr + offsets, tl.fma(x, y, x), mask=mask)
    tl.store(nan_ptr + offsets, tl.maximum(x, tl.where(c != 0, y, float("nan")), propagate_nan=tl.PropagateNan.ALL), mask=mask)


def test_where_clamp_fma_and_nan():
    c, x, y = random(SIZE, "int32", 1, 0, 2), random(SIZE, "fp32", 2), random(SIZE, "fp32", 3)
    outs = [np.zeros(SIZE, np.float32) for _ in range(4)]
    select_kernel[(1,)](c, x, y, *outs, SIZE, BLOCK=256)
    np.testing.assert_array_equal(outs[0], np.where(c != 0, x, y))
    np.testing.assert_array_equal(outs[1], np.clip(x, np.float32(-0.5), np.float32(0.5)))
    close(outs[2], wide(x) * wide(y) + wide(x), "fp32")
    np.testing.assert_array_equal(outs[3], np.where(c != 0, np.maximum(x, y), np.float32(np.nan)))


@triton.jit
def logical_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.static_assert(tl.constexpr_type(3) == tl.constexpr_type(3))
    tl.store(out_ptr + i, (x > 10).logical_or(x < -10))


def test_logical_or():
    x, out = random(128, "int32", 1, -20, 20), np.zeros(128, np.int32)
    logical_kernel[(1,)](x, out, BLOCK=128)
    np.testing.assert_array_equal(out, (x > 10) | (x < -10))


@triton.jit
def fma_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(out_ptr + i, tl.fma(x, y, x))


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp64"])
def test_fma_of_other_types(dtype):
    x, y = random(256, dtype, 2), random(256, dtype, 3)
    out = np.zeros(256, DTYPES[dtype])
    fma_kernel[(1,)](x, y, out, BLOCK=256)
    close(out, wide(x) * wide(y) + wide(x), dtype)


@triton.jit
def bounded_kernel(x_ptr, y_ptr, z_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, y, z = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(z_ptr + i)
    tl.store(out_ptr + i, tl.fma(x, y, z))
    tl.store(out_ptr + BLOCK + i, tl.clamp(x, tl.minimum(y, z), tl.maximum(y, z)))


@pytest.mark.parametrize("dtype", ["float8e4nv", "float8e5"])
def test_fma_and_clamp_of_8_bit_floats(dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = {"float8e4nv": ml_dtypes.float8_e4m3fn, "float8e5": ml_dtypes.float8_e5m2}[dtype]
    x, y, z = (np.random.default_rng(seed).uniform(-4, 4, 256).astype(np.float32).astype(kind) for seed in range(3))
    out = np.zeros(512, np.uint8)
    arguments = (triton.reinterpret(each.view(np.uint8), getattr(tl, dtype)) for each in (x, y, z, out))
    bounded_kernel[(1,)](*arguments, BLOCK=256)
    x, y, z = (each.astype(np.float32) for each in (x, y, z))
    np.testing.assert_array_equal(out[:256].view(kind), (x * y + z).astype(kind))
    np.testing.assert_array_equal(out[256:].view(kind), np.clip(x, np.minimum(y, z), np.maximum(y, z)).astype(kind))


@triton.jit
def shift_right_kernel(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, tl.load(x_ptr + i) >> tl.load(y_ptr + i))


@pytest.mark.parametrize("left, right, result", [("int8", "uint8", "uint8"), ("int32", "uint32", "uint32"), ("int32", "uint64", "uint64"),
                                                 ("int32", "uint8", "int32"), ("uint8", "int8", "uint8"), ("uint32", "int32", "uint32")])
def test_the_left_operand_says_whether_a_right_shift_repeats_the_sign(left, right, result):
    x = np.array([-8, -1, -100, 100]).astype(left)
    y = np.array([1, 1, 2, 2], right)
    out = np.zeros(4, result)
    shift_right_kernel[(1,)](x, y, out)
    np.testing.assert_array_equal(out, (x.astype(np.int64) >> y.astype(np.int64)).astype(result))


@triton.jit
def negate_kernel(x_ptr, out_ptr):
    i = tl.arange(0, 4)
    tl.store(out_ptr + i, -tl.load(x_ptr + i))
    tl.store(out_ptr + 4, -tl.load(x_ptr))


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_minus_flips_the_sign_of_zero(dtype):
    x = np.array([0, 0, 1, -2], DTYPES[dtype])
    x[1] = -x[1]
    out = np.ones(5, DTYPES[dtype])
    negate_kernel[(1,)](x, out)
    np.testing.assert_array_equal(np.signbit(out), [True, False, True, False, True])


@triton.jit
def attributes_kernel(x_ptr, n, out_ptr):
    t = tl.arange(0, 4)
    if hasattr(x_ptr, "dtype"):
        tl.store(out_ptr, 1)
    if hasattr(n, "dtype"):
        tl.store(out_ptr + 1, 1)
    if hasattr(t, "shape") and hasattr(t, "to") and hasattr(t, "sum"):
        tl.store(out_ptr + 2, 1)
    if not hasattr(t, "nonsense"):
        tl.store(out_ptr + 3, 1)
    tl.store(out_ptr + 4, getattr(t, "sum")(0))
    tl.store(out_ptr + 5, getattr(t, "nonsense", 7))


def test_hasattr_and_getattr_of_run_time_values():
    out = np.zeros(6, np.int32)
    attributes_kernel[(1,)](np.zeros(1, np.int32), 5, out)
    np.testing.assert_array_equal(out, [1, 1, 1, 1, 6, 7])


@triton.jit
def scalar_index_kernel(out_ptr, n, N: tl.constexpr):
    tl.store(out_ptr + n[:, None] * N + tl.arange(0, N)[None, :], 1)
    tl.store(out_ptr + n[None, None, :], 2)
    tl.store(out_ptr + tl.arange(0, N)[None, None:], 3, mask=tl.arange(0, N)[None, :] == 1)


def test_a_scalar_indexed_by_new_dimensions():
    out = np.zeros(12, np.int32)
    scalar_index_kernel[(1,)](out, 2, N=4)
    np.testing.assert_array_equal(out, [0, 3, 2, 0, 0, 0, 0, 0, 1, 1, 1, 1])


@triton.jit
def divide_by_largest_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x / tl.max(tl.abs(x)))


@pytest.mark.parametrize("scale", [1.0, 1e-39, 5e37])
def test_division_by_one_number_is_a_division(engine, scale):
    # A product with the reciprocal would be off by one in the last place, and wrong if the reciprocal overflows.
    x = (random(256, "fp32", 1) * scale).astype(np.float32)
    out = np.zeros_like(x)
    divide_by_largest_kernel[(1,)](x, out, BLOCK=256)
    if engine in ("interpret", "cpu"):
        np.testing.assert_array_equal(out, x / np.abs(x).max())
    elif scale == 1.0: # on a GPU, the error of `/` is at most two units in the last place, for divisors up to 2^126
        close(out, x.astype(np.float64) / np.abs(x).max(), "fp32")


@triton.jit
def divide_by_zero_kernel(x_ptr, y_ptr, quotient_ptr, remainder_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets)
    tl.store(quotient_ptr + offsets, x // y)
    tl.store(remainder_ptr + offsets, x % y)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_division_by_zero_gives_all_ones_and_the_dividend(dtype):
    x = np.array([7, 0, 1, 100] * 8, dtype)
    quotient, remainder = np.zeros_like(x), np.zeros_like(x)
    divide_by_zero_kernel[(1,)](x, np.zeros_like(x), quotient, remainder, BLOCK=32)
    np.testing.assert_array_equal(quotient, np.full_like(x, -1 if dtype == "int32" else 2**32 - 1))
    np.testing.assert_array_equal(remainder, x)
