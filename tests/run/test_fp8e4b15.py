"""float8e4b15: a sign, four bits of exponent with the bias 15, three bits of fraction, no infinity and no NaN. A table of its 256 numbers, made
from this definition, gives the expected results of all conversions."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, random


def numbers():
    bits = np.arange(256)
    exponent, fraction = bits >> 3 & 15, bits & 7
    magnitude = np.where(exponent == 0, fraction / 8 * 2.0**-14, (1 + fraction / 8) * 2.0**(exponent - 15.0))
    return np.where(bits & 128, -magnitude, magnitude)


def rounded(x):
    """The bits of the nearest number, at most 1.75; ties are rounded away from zero. NaN and infinities become 1.75."""
    x = np.asarray(x, np.float64)
    table = numbers()[:127]
    magnitude = np.where(np.isnan(x), 1.75, np.minimum(np.abs(x), 1.75))
    above = np.minimum(np.searchsorted(table, magnitude), 126)
    below = np.maximum(above - 1, 0)
    bits = np.where(table[above] - magnitude <= magnitude - table[below], above, below)
    return np.where(np.signbit(x), bits | 128, bits).astype(np.uint8)


@triton.jit
def convert_kernel(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


def custom(bits):
    return triton.reinterpret(bits, tl.float8e4b15)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_all_numbers_widen(dtype):
    out = np.zeros(256, DTYPES[dtype])
    convert_kernel[(1, )](custom(np.arange(256, dtype=np.uint8)), out, B=256)
    np.testing.assert_array_equal(out.astype(np.float64), numbers())
    np.testing.assert_array_equal(np.signbit(out.astype(np.float64)), np.arange(256) >= 128)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp64"])
def test_numbers_round(dtype):
    table = numbers()
    between = (table[1:127] + table[:126]) / 2
    x = np.concatenate([table, between, -between, np.nextafter(between, 0), np.nextafter(between, 2), random(1000, "fp64", 1),
                        1e-5 * random(1000, "fp64", 2), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -60000, 1e-40, -1e-300]])
    with np.errstate(over="ignore"):
        x = np.resize(x, 4096).astype(DTYPES[dtype])
    out = np.zeros(4096, np.uint8)
    convert_kernel[(4, )](x, custom(out), B=1024)
    np.testing.assert_array_equal(out, rounded(x))


def test_integers():
    x = np.array([0, 1, -1, 2, 100, -2**31, 2**31 - 1, 3], np.int32)
    out, back = np.zeros(8, np.uint8), np.zeros(8, np.int32)
    convert_kernel[(1, )](x, custom(out), B=8)
    np.testing.assert_array_equal(out, rounded(x))
    convert_kernel[(1, )](custom(out), back, B=8)
    np.testing.assert_array_equal(back, np.clip(x, -1, 1))


@triton.jit
def use_kernel(x_ptr, y_ptr, sum_ptr, larger_ptr, size_ptr, equal_ptr, half_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    tl.store(sum_ptr + i, x + y)
    tl.store(larger_ptr + i, tl.where(x > y, x, y))
    tl.store(size_ptr + i, tl.abs(x))
    tl.store(equal_ptr + i, x == y)
    tl.store(half_ptr + i, tl.full((B, ), 0.3, tl.float8e4b15) * 2.0)


def test_operators_compute_in_fp16():
    x, y = random(256, "uint8", 3), random(256, "uint8", 4)
    y[:16] = x[:16]
    total, larger, size, equal, half = [np.zeros(256, t) for t in (np.float16, np.uint8, np.uint8, np.int8, np.float16)]
    use_kernel[(1, )](custom(x), custom(y), total, custom(larger), custom(size), equal, half, B=256)
    table = numbers()
    np.testing.assert_array_equal(total, (table[x] + table[y]).astype(np.float16))
    np.testing.assert_array_equal(larger, np.where(table[x] > table[y], x, y))
    np.testing.assert_array_equal(size, x & 127)
    np.testing.assert_array_equal(equal, table[x] == table[y])
    np.testing.assert_array_equal(half, 2 * table[rounded(0.3)])


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c_ptr + i, tl.dot(tl.load(a_ptr + i), tl.load(b_ptr + i)))


def test_matmul():
    """The products are of fp16 numbers; sums of 32 products of the table's numbers are exact in fp32."""
    a, b = random((32, 32), "uint8", 5), random((32, 32), "uint8", 6)
    a, b = a & 0x87 | 0x60, b & 0x87 | 0x60
    c = np.zeros((32, 32), np.float32)
    matmul_kernel[(1, )](custom(a), custom(b), c, N=32)
    np.testing.assert_array_equal(c, numbers()[a] @ numbers()[b])


@triton.jit
def by_name_kernel(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.extra.cuda.convert_custom_float8_sm80(tl.load(x_ptr + i), tl.float8e4b15)
    tl.store(out_ptr + i, tl.extra.cuda.convert_custom_float8_sm70(x, tl.float32))


def test_conversion_by_name():
    x = random(256, "fp16")
    out = np.zeros(256, np.float32)
    by_name_kernel[(1, )](x, out, B=256)
    np.testing.assert_array_equal(out, numbers()[rounded(x)])
