"""Indices are signed and as wide as their types: negative offsets, strides, rows and remainders, narrow types that wrap around, and tensors
that are passed as two arguments. All of these are in operands of dots, whose tiles GPUs load with TMA."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import close, random, wide


def identity():
    return np.eye(64, dtype=np.float16)


def framed(rows, dtype):
    """(memory with 64 rows of 7 before and after a tensor, which must not change; the tensor)."""
    memory = np.full((rows + 128, 64), 7, dtype)
    return memory, memory[64:64 + rows]


@triton.jit
def shifted_load_kernel(x, w, o, shift, n):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    c = k + shift
    v = tl.load(x + r[:, None] * 64 + c[None, :], mask=(c[None, :] >= 0) & (c[None, :] < n), other=0.0)
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + r[:, None] * 64 + k[None, :], tl.dot(v, ww))


@pytest.mark.parametrize("shift", [-16, -32, -3, 0, 16, 5, -64, 64])
def test_loads_at_a_shift(shift):
    x, o = random((64, 64), "fp16", 1), np.zeros((64, 64), np.float32)
    shifted_load_kernel[(1,)](x, identity(), o, shift, 64)
    expected = np.zeros((64, 64))
    for j in range(64):
        if 0 <= j + shift < 64:
            expected[:, j] = wide(x)[:, j + shift]
    close(o, expected, "fp32", terms=64)


@triton.jit
def shifted_store_kernel(x, w, o, shift, n):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    c = k + shift
    v = tl.load(x + r[:, None] * 64 + k[None, :])
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + r[:, None] * 64 + c[None, :], tl.dot(v, ww), mask=(c[None, :] >= 0) & (c[None, :] < n))


@pytest.mark.parametrize("shift", [-16, -32, -3, 0, 16])
def test_stores_at_a_shift_stay_in_their_tensor(shift):
    x = random((64, 64), "fp16", 1)
    memory, o = framed(64, np.float32)
    shifted_store_kernel[(1,)](x, identity(), o, shift, 64)
    expected = np.full((192, 64), 7.0)
    for j in range(64):
        if 0 <= j + shift < 64:
            expected[64:128, j + shift] = wide(x)[:, j]
    close(memory, expected, "fp32", terms=64)


@triton.jit
def halo_kernel(x, w, o, shift, n, K):
    r, k, c = tl.arange(0, 64), tl.arange(0, 16), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(0, K, 16):
        at = i + k + shift
        a = tl.load(x + r[:, None] * 64 + at[None, :], mask=(at[None, :] >= 0) & (at[None, :] < n), other=0.0)
        b = tl.load(w + (i + k)[:, None] * 64 + c[None, :])
        acc += tl.dot(a, b)
    tl.store(o + r[:, None] * 64 + c[None, :], acc)


@pytest.mark.parametrize("shift", [-16, -48, 16])
def test_halo_of_a_loop(shift):
    x, o = random((64, 64), "fp16", 2), np.zeros((64, 64), np.float32)
    halo_kernel[(1,)](x, identity(), o, shift, 64, 64)
    expected = np.zeros((64, 64))
    for j in range(64):
        if 0 <= j + shift < 64:
            expected[:, j] = wide(x)[:, j + shift]
    close(o, expected, "fp32", terms=64)


@triton.jit
def wrapped_rows_kernel(x, w, o, shift, m):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    rows = (r + shift) % m
    v = tl.load(x + 8192 + rows[:, None] * 64 + k[None, :])  # from row 128 on
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + r[:, None] * 64 + k[None, :], tl.dot(v, ww), mask=(r + shift < m)[:, None])


@pytest.mark.parametrize("shift", [-16, -100, 0, 16, 64])
def test_rows_modulo_a_size_from_a_negative_start(shift):
    m = 64
    tall = random((192, 64), "fp16", 3)
    o = np.zeros((64, 64), np.float32)
    wrapped_rows_kernel[(1,)](tall, identity(), o, shift, m)  # remainders are those of C, down to -63
    expected = np.zeros((64, 64))
    for r in range(64):
        if r + shift < m:
            expected[r] = wide(tall)[128 + int(np.fmod(r + shift, m))]
    close(o, expected, "fp32", terms=64)


@triton.jit
def strided_rows_kernel(x, w, o, stride, m):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    v = tl.load(x + 6144 + r[:, None] * stride + k[None, :], mask=(r < m)[:, None], other=0.0)
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + r[:, None] * 64 + k[None, :], tl.dot(v, ww))


@pytest.mark.parametrize("stride", [64, -64, 128, 0])
def test_strides_of_any_sign(stride):
    tall = random((256, 64), "fp16", 4)
    o = np.zeros((64, 64), np.float32)
    strided_rows_kernel[(1,)](tall, identity(), o, stride, 50)
    expected = np.zeros((64, 64))
    for r in range(50):
        expected[r] = wide(tall)[96 + r * stride // 64]
    close(o, expected, "fp32", terms=64)


@triton.jit
def narrow_kernel(x, w, o, a, KIND: tl.constexpr):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    if KIND == 0:
        c = (k.to(tl.uint8) + a.to(tl.uint8)).to(tl.int32)
    elif KIND == 1:
        c = (k.to(tl.int8) + a.to(tl.int8)).to(tl.int32) + 128
    else:
        c = (tl.program_id(0) + a).to(tl.int8).to(tl.int32) + 128 + k // 64 + k
    v = tl.load(x + r[:, None] * 256 + c[None, :])
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + r[:, None] * 64 + k[None, :], tl.dot(v, ww))


@pytest.mark.without_debug
@pytest.mark.parametrize("kind, a", [(0, 240), (0, 16), (1, 96), (1, 16), (2, 144), (2, 16)])
def test_narrow_indices_wrap_around(kind, a):
    x, o = random((64, 256), "fp16", 5), np.zeros((64, 64), np.float32)
    narrow_kernel[(1,)](x, identity(), o, a, KIND=kind)
    k = np.arange(64)
    if kind == 0:
        c = (k + a) % 256
    elif kind == 1:
        c = ((k + a).astype(np.int64).astype(np.int8)).astype(np.int64) + 128
    else:
        c = int(np.int64(a).astype(np.int8)) + 128 + k
    close(o, wide(x)[:, c], "fp32", terms=64)


@triton.jit
def loaded_row_store_kernel(x, w, o, p):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    at = r + tl.load(p)
    v = tl.load(x + r[:, None] * 64 + k[None, :])
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + at[:, None] * 64 + k[None, :], tl.dot(v, ww), mask=((at >= 0) & (at < 64))[:, None])


@pytest.mark.parametrize("first", [-16, 0, 16, -100])
def test_stores_at_a_row_from_memory(first):
    x = random((64, 64), "fp16", 6)
    memory, o = framed(64, np.float32)
    loaded_row_store_kernel[(1,)](x, identity(), o, np.array([first], np.int32))
    expected = np.full((192, 64), 7.0)
    for r in range(64):
        if 0 <= r + first < 64:
            expected[64 + r + first] = wide(x)[r]
    close(memory, expected, "fp32", terms=64)


@triton.jit
def loaded_column_kernel(x, w, o, p):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    c = k + tl.load(p)
    v = tl.load(x + r[:, None] * 64 + c[None, :], mask=((c >= 0) & (c < 64))[None, :], other=0.0)
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + r[:, None] * 64 + k[None, :], tl.dot(v, ww))


@pytest.mark.parametrize("first", [-16, 5, -(2**31), 2**31 - 64])
def test_loads_at_a_column_from_memory(first):
    x, o = random((64, 64), "fp16", 7), np.zeros((64, 64), np.float32)
    loaded_column_kernel[(1,)](x, identity(), o, np.array([first], np.int32))
    expected = np.zeros((64, 64))
    for j in range(64):
        if 0 <= j + first < 64:
            expected[:, j] = wide(x)[:, j + first]
    close(o, expected, "fp32", terms=64)


@triton.jit
def wrapping_offset_kernel(x, w, o, big, WIDE: tl.constexpr):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    # (r + big) * 64 exceeds 32 bits: as an int32 it wraps around to r * 64.
    at = (r + big) * 64 if not WIDE else (r + big).to(tl.int64) * 64 - 4294967296
    v = tl.load(x + at[:, None] + k[None, :])
    ww = tl.load(w + k[:, None] * 64 + k[None, :])
    tl.store(o + r[:, None] * 64 + k[None, :], tl.dot(v, ww))


@pytest.mark.without_debug
@pytest.mark.parametrize("is_wide", [False, True])
def test_32_bit_offsets_wrap_around(is_wide):
    x, o = random((64, 64), "fp16", 8), np.zeros((64, 64), np.float32)
    wrapping_offset_kernel[(1,)](x, identity(), o, 2**26, WIDE=is_wide)
    close(o, wide(x), "fp32", terms=64)


@triton.jit
def in_condition_kernel(a, o, p):
    r, c = tl.arange(0, 64), tl.arange(0, 64)
    i = 0
    while tl.sum(tl.sum(tl.dot(tl.load(a + (tl.load(p + i) * 64 + r)[:, None] * 64 + c[None, :]),
                               tl.load(a + r[:, None] * 64 + c[None, :])), 1), 0) > 0:
        i += 1
    tl.store(o, i)


def test_copies_in_the_condition_of_a_while_loop():
    a = np.zeros((256, 64), np.float16)
    a[:128] = 1
    o = np.zeros(1, np.int32)
    in_condition_kernel[(1,)](a, o, np.array([0, 1, 1, 3, 0], np.int32))
    assert o[0] == 3


@triton.jit
def two_names_kernel(a, b, c, steps):
    i = tl.arange(0, 64)
    tile = i[:, None] * 64 + i[None, :]
    for _ in range(0, steps):
        x = tl.load(a + tile)
        y = tl.load(b + tile)
        tl.store(c + tile, tl.dot(x, y).to(tl.float16))


@pytest.mark.parametrize("offset", [0, 1])
def test_one_tensor_as_two_arguments(offset):
    """An iteration loads the values that the previous one has stored, through whichever argument, even if tensors only overlap."""
    memory = random((65, 64), "fp16", 9)
    memory[:] = np.roll(np.eye(65, 64), 1, axis=0)
    b = np.roll(identity(), 1, axis=1)
    a, c = memory[:64], memory[offset:offset + 64]
    expected = wide(memory)
    for _ in range(3):
        expected[offset:offset + 64] = expected[:64] @ wide(b)
    two_names_kernel[(1,)](a, b, c, 3)
    np.testing.assert_array_equal(wide(memory), expected)


@triton.jit
def rotate_kernel(x, y, n):
    i = tl.arange(0, 1024)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + (i + 1) % n, v, mask=i < n)
    w = tl.load(x + 1023 - i)
    tl.store(y + i, w)


def test_program_order_through_two_arguments():
    memory = np.arange(1024, dtype=np.int32)
    expected = np.roll(memory, 1)[::-1].copy()
    rotate_kernel[(1,)](memory, memory, 1024)
    np.testing.assert_array_equal(memory, expected)


@triton.jit
def divided_kernel(p, o, shift, D: tl.constexpr, KIND: tl.constexpr):
    i = tl.arange(0, 256)
    if KIND == 0:
        tl.store(o + i, tl.load(p + 64 + (i + shift) // D))
    elif KIND == 1:
        tl.store(o + i, tl.load(p + 64 + (i + shift) % D))
    else:
        tl.store(o + i, tl.load(p + i, mask=(i + shift) // D == KIND - 3, other=7))


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
@pytest.mark.parametrize("shift", [-16, -32, -64, 16])
def test_quotients_and_remainders_of_negative_numbers(shift, kind):
    """They are those of C, rounded towards 0: in a group of 16 adjacent elements around 0, not all have the first one's quotient."""
    p, o = np.arange(512, dtype=np.int32), np.zeros(256, np.int32)
    for d in (16, 32, 64):
        divided_kernel[(1,)](p, o, shift, D=d, KIND=kind)
        index = np.arange(256) + shift
        quotient = np.trunc(index / d).astype(np.int64)
        expected = {0: p[64 + quotient], 1: p[64 + index - quotient * d]}.get(kind, np.where(quotient == kind - 3, p[:256], 7))
        np.testing.assert_array_equal(o, expected)
