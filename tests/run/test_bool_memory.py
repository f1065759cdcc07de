"""Booleans in memory are bytes: a store writes 1 for what is not 0, and 0 otherwise, whatever the type of the value; a load takes any byte but 0 as
true."""

import math

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

TYPES = {
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
    "uint64": np.uint64, "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "fp64": np.float64, "int1": np.bool_,
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
}
INTEGERS = [0, 1, 2, -1, 3, 16, 64, 128, 255, 256, 2**15, 2**16, 2**24, 2**31, 2**32, 2**63]
FLOATS = [0.0, -0.0, 0.5, -0.25, 1.0, 2.0, 256.0, 3.75, math.nan, math.inf, -math.inf, 0.0, 1e-3, 448.0, -1.0, 0.0]


def numbers(name):
    dtype = np.dtype(TYPES[name])
    if dtype.kind in "iu":
        return np.array([number & (256**dtype.itemsize - 1) for number in INTEGERS], np.uint64).astype(dtype)
    return np.array(FLOATS, np.float32).astype(dtype)


def argument(name, values):
    return triton.reinterpret(values.view(np.uint8), getattr(tl, name.replace("fp8", "float8"))) if name.startswith("fp8") else values


@triton.jit
def store_kernel(x_ptr, tile_ptr, masked_ptr, scalar_ptr, cast_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(tile_ptr + i, x)
    tl.store(masked_ptr + i, x, mask=i % 3 != 0)
    tl.store(cast_ptr + i, x.to(tl.int1))
    for j in range(N):
        tl.store(scalar_ptr + j, tl.load(x_ptr + j))


@pytest.mark.parametrize("name", TYPES)
def test_stores(name):
    x = numbers(name)
    outs = [np.full(16, 7, np.uint8) for _ in range(4)]
    store_kernel[(1,)](argument(name, x), *[out.view(np.bool_) for out in outs], N=16)
    truth = np.array([bool(number != 0) for number in x.tolist()]) if name != "int1" else x
    wanted = truth.astype(np.uint8)
    for out in (outs[0], outs[2], outs[3]):
        np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(outs[1], np.where(np.arange(16) % 3 != 0, wanted, 7))


@triton.jit
def load_kernel(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, x.to(tl.int32))
    tl.store(out_ptr + N + i, tl.where(x, 5, 6))
    tl.store(out_ptr + 2 * N + i, tl.load(x_ptr + i, mask=i < 8, other=i * 256).to(tl.int32))
    tl.store(out_ptr + 3 * N + i, tl.load(x_ptr + i, mask=i < 8, other=2).to(tl.int32))


def test_loads_of_other_bytes():
    x = np.array([0, 1, 2, 3, 127, 128, 254, 255, 0, 0, 16, 64, 4, 0, 8, 32], np.uint8)
    out = np.zeros((4, 16), np.int32)
    load_kernel[(1,)](x.view(np.bool_), out, N=16)
    np.testing.assert_array_equal(out[0], x != 0)
    np.testing.assert_array_equal(out[1], np.where(x != 0, 5, 6))
    np.testing.assert_array_equal(out[2], np.where(np.arange(16) < 8, x != 0, True))
    np.testing.assert_array_equal(out[3], np.where(np.arange(16) < 8, x != 0, True))


@triton.jit
def literal_kernel(out_ptr):
    tl.store(out_ptr, 2)
    tl.store(out_ptr + 1, 0.5)
    tl.store(out_ptr + 2, 256)
    tl.store(out_ptr + 3, 0)
    tl.store(out_ptr + 4, float("nan"))
    tl.store(out_ptr + 5, 0.0)
    tl.store(out_ptr + 6, True)
    tl.store(out_ptr + 8 + tl.arange(0, 4), 256)
    tl.store(out_ptr + 12 + tl.arange(0, 4), tl.full((4,), 0.25, tl.float32))


def test_literals():
    out = np.full(16, 7, np.uint8)
    literal_kernel[(1,)](out.view(np.bool_))
    assert out.tolist() == [1, 1, 1, 0, 1, 0, 1, 7] + [1] * 8


@triton.jit
def block_kernel(x_ptr, out_ptr, described_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    block = tl.make_block_ptr(out_ptr, [N], [1], [0], [N], [0])
    tl.store(block, x)
    tl.make_tensor_descriptor(described_ptr, [N], [1], [N]).store([0], x)


def test_blocks():
    x = numbers("int32")
    out, described = np.full(16, 7, np.uint8), np.full(16, 7, np.uint8)
    block_kernel[(1,)](x, out.view(np.bool_), described.view(np.bool_), N=16)
    np.testing.assert_array_equal(out, x != 0)
    np.testing.assert_array_equal(described, x != 0)
