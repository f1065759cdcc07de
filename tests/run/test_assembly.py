"""tl.inline_asm_elementwise on CPUs: x86 assembly, in which words, registers and vectors hold packed elements."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@pytest.fixture(autouse=True)
def engine():
    """x86 assembly runs only on CPUs."""
    with triton.engine("cpu"):
        yield "cpu"


@triton.jit
def rotate_kernel(x_ptr, out_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.inline_asm_elementwise("movl $1, $0; roll $$7, $0", "=&r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out_ptr + i, y, mask=i < n)


def test_one_register():
    x = random(1000, "int32")
    out = np.zeros_like(x)
    rotate_kernel[(8, )](x, out, len(x), B=128)
    bits = x.view(np.uint32)
    np.testing.assert_array_equal(out.view(np.uint32), bits << 7 | bits >> 25)


@triton.jit
def invert_kernel(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, PACK: tl.constexpr):
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise("movl $1, $0; notl $0", "=&r,r", [x], dtype=tl.int8, is_pure=True, pack=PACK)
    tl.store(out_ptr + i, y)


@pytest.mark.parametrize("rows, columns", [(16, 32), (64, 2), (1, 1)])
def test_bytes_share_a_word(rows, columns):
    """Four adjacent elements share a word, even if they are in several rows, or if the tile has fewer elements."""
    x = random((rows, columns), "int8")
    out = np.zeros_like(x)
    invert_kernel[(1, )](x, out, rows, columns, PACK=4)
    np.testing.assert_array_equal(out, ~x)


@triton.jit
def divide_kernel(x_ptr, y_ptr, quotient_ptr, remainder_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    quotient, remainder = tl.inline_asm_elementwise("cltd; idivl $3", "={eax},=&{edx},0,r", [x, y], dtype=(tl.int32, tl.int32),
                                                    is_pure=True, pack=1)
    tl.store(quotient_ptr + i, quotient)
    tl.store(remainder_ptr + i, remainder)


def test_two_outputs():
    x, y = random(256, "int32"), random(256, "int32", 1, 1, 1000)
    quotient, remainder = np.zeros_like(x), np.zeros_like(x)
    divide_kernel[(1, )](x, y, quotient, remainder, B=256)
    np.testing.assert_array_equal(quotient, np.trunc(x.astype(np.float64) / y).astype(np.int32))
    np.testing.assert_array_equal(remainder, np.fmod(x, y))


@triton.jit
def vector_kernel(x_ptr, y_ptr, out_ptr, n, B: tl.constexpr, PACK: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x, y = tl.load(x_ptr + i, mask=i < n, other=0), tl.load(y_ptr + i, mask=i < n, other=0)
    if PACK == 4:
        z = tl.inline_asm_elementwise("movaps $1, $0; subps $2, $0", "=&x,x,x", [x * 2, y], dtype=tl.float32, is_pure=True, pack=4)
    else:
        z = tl.inline_asm_elementwise("movss $1, $0; subss $2, $0", "=&x,x,x", [x * 2, y], dtype=tl.float32, is_pure=True, pack=1)
    tl.store(out_ptr + i, z, mask=i < n)


@pytest.mark.parametrize("pack", [1, 4])
def test_vector_registers(pack):
    x, y = random(500, "fp32"), random(500, "fp32", 1)
    out = np.zeros_like(x)
    vector_kernel[(4, )](x, y, out, len(x), B=128, PACK=pack)
    np.testing.assert_array_equal(out, x * 2 - y)


@triton.jit
def half_kernel(x_ptr, out_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise("movl $1, $0; xorl $$0x80008000, $0", "=&r,r", [x], dtype=tl.float16, is_pure=True, pack=2)
    tl.store(out_ptr + i, y)


def test_floats_share_a_word():
    x = random(64, "fp16")
    out = np.zeros_like(x)
    half_kernel[(1, )](x, out, B=64)
    np.testing.assert_array_equal(out, -x)


@triton.jit
def count_kernel(counter_ptr, out_ptr, N: tl.constexpr):
    address = counter_ptr.to(tl.int64)
    last = 0
    for _ in range(N):
        last = tl.inline_asm_elementwise("incl ($1); movl ($1), $0", "=&r,r,~{memory}", [address], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out_ptr, last)


def test_scalars_with_effects():
    counter, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    count_kernel[(1, )](counter, out, N=5)
    assert counter[0] == 5 and out[0] == 5


@triton.jit
def wrong_kernel(x_ptr):
    i = tl.arange(0, 16)
    y = tl.inline_asm_elementwise("movl $1, $0; no_such_instruction $0", "=&r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x_ptr + i, y)


def test_wrong_text_is_refused():
    with pytest.raises(triton.CompilationError, match="invalid instruction mnemonic 'no_such_instruction'"):
        wrong_kernel[(1, )](np.zeros(16, np.int32))


def test_the_interpreter_refuses():
    with triton.engine("interpret"), pytest.raises(Exception, match="the interpreter cannot run assembly"):
        rotate_kernel[(1, )](np.zeros(128, np.int32), np.zeros(128, np.int32), 128, B=128)
