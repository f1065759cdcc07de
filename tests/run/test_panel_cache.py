"""The panels that one program has packed for a product may serve the next one, if they have the same numbers and are in the same launch."""

import contextlib

import numpy as np
import pytest

import tilewright
import tilewright as triton
import tilewright.language as tl
from checks import random

BLOCK = 32


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, first, stride, ACC: tl.constexpr, B: tl.constexpr):
    """Programs are numbered along the columns of C: those of one column multiply by the same B."""
    i = tl.arange(0, B)
    tiles = tl.cdiv(M, B)
    rows, columns = tl.program_id(0) % tiles * B + i, tl.program_id(0) // tiles * B + i
    acc = tl.zeros((B, B), ACC)
    for k in range(first, K, stride * B):
        a = tl.load(a_ptr + rows[:, None] * K + (k + i)[None, :], mask=(rows < M)[:, None] & (k + i < K)[None, :], other=0)
        b = tl.load(b_ptr + (k + i)[:, None] * N + columns[None, :], mask=(k + i < K)[:, None] & (columns < N)[None, :], other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


def product(a, b, first=0, stride=1, threads=1):
    (m, k), n = a.shape, b.shape[1]
    is_integer = a.dtype == np.int8
    c = np.full((m, n), -1, np.int32 if is_integer else np.float32)
    grid = (triton.cdiv(m, BLOCK) * triton.cdiv(n, BLOCK),)
    matmul_kernel[grid](a, b, c, m, n, k, first, stride, ACC=tl.int32 if is_integer else tl.float32, B=BLOCK, num_threads=threads)
    return c


def expected(a, b, first=0, stride=1):
    used = [k for k in range(a.shape[1]) if k >= first and (k - first) // BLOCK % stride == 0]
    return a[:, used].astype(np.float64) @ b[used].astype(np.float64)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int8"])
@pytest.mark.parametrize("m, n, k, first, stride", [
    (200, 70, 96, 0, 1),     # many programs in a column
    (40, 200, 100, 0, 1),    # two
    (20, 300, 100, 0, 1),    # one program, so nothing is used again
    (70, 40, 3000, 0, 1),    # more iterations than have room
    (100, 64, 300, 7, 1), (100, 64, 300, 5, 2)])
def test_matmul(m, n, k, first, stride, dtype):
    a, b = random((m, k), dtype, 1), random((k, n), dtype, 2)
    for threads in (1, 2, 3):
        np.testing.assert_allclose(product(a, b, first, stride, threads), expected(a, b, first, stride), rtol=1e-2, atol=2e-2 * np.sqrt(k))


@triton.jit
def batch_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BATCH: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    which, rows, columns = tl.arange(0, BATCH)[:, None, None], tl.program_id(0) * B + i, tl.program_id(1) * B + i
    acc = tl.zeros((BATCH, B, B), tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptr + (which * M + rows[None, :, None]) * K + (k + i)[None, None, :],
                    mask=(rows < M)[None, :, None] & (k + i < K)[None, None, :], other=0)
        b = tl.load(b_ptr + (which * K + (k + i)[None, :, None]) * N + columns[None, None, :],
                    mask=(k + i < K)[None, :, None] & (columns < N)[None, None, :], other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    c_ptrs = c_ptr + (which * M + rows[None, :, None]) * N + columns[None, None, :]
    tl.store(c_ptrs, acc, mask=(rows < M)[None, :, None] & (columns < N)[None, None, :])


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
@pytest.mark.parametrize("batch, m, n, k", [(2, 32, 32, 32), (4, 70, 40, 100), (2, 33, 65, 31)])
def test_matmuls_of_a_batch_have_separate_panels(batch, m, n, k, dtype):
    a, b = random((batch, m, k), dtype, 1), random((batch, k, n), dtype, 2)
    c = np.full((batch, m, n), -1, np.float32)
    batch_kernel[triton.cdiv(m, BLOCK), triton.cdiv(n, BLOCK)](a, b, c, m, n, k, BATCH=batch, B=BLOCK)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-2, atol=2e-2 * np.sqrt(k))


def test_next_launch_reads_what_has_changed():
    a, b = random((100, 64), "fp32", 1), random((64, 64), "fp32", 2)
    for threads in (1, 2):
        for seed in (3, 4):
            b[...] = random((64, 64), "fp32", seed)
            np.testing.assert_allclose(product(a, b, threads=threads), expected(a, b), rtol=1e-4, atol=1e-4)


def test_many_threads_give_the_same_bits():
    a, b = random((500, 300), "fp32", 1), random((300, 90), "fp32", 2)
    np.testing.assert_array_equal(product(a, b, threads=1), product(a, b, threads=4))


@triton.jit
def own_operand_kernel(a_ptr, b_ptr, c_ptr, HOW: tl.constexpr, B: tl.constexpr):
    """Each program has the same addresses, with other numbers there."""
    pid, i = tl.program_id(0), tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    if HOW == "store":
        tl.store(b_ptr + at, (at + pid).to(tl.float32))
    if HOW == "atomic":
        tl.atomic_add(b_ptr + at, at * 0.0 + 1.0)
    acc = tl.zeros((B, B), tl.float32)
    for step in range(0, 2):
        if HOW == "store in the loop":
            tl.store(b_ptr + at, (at + pid + step).to(tl.float32))
        a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
        if HOW == "scale":
            b = b * (1.0 + pid)
        if HOW == "mask":
            b = tl.load(b_ptr + at, mask=i[None, :] < pid, other=3.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + pid * B * B + at, acc)


@pytest.mark.parametrize("how", ["store", "atomic", "store in the loop", "scale", "mask"])
def test_other_numbers_at_the_same_place(how, engine):
    """Programs that store values which others load are a race; on one thread of a CPU, the order of the programs decides it."""
    races = how not in ("scale", "mask")
    if races and engine == "cuda":
        pytest.skip("programs of a GPU run in no order")
    programs = 5
    a, b, c = random((BLOCK, BLOCK), "fp32", 1), random((BLOCK, BLOCK), "fp32", 2), np.zeros((programs, BLOCK, BLOCK), np.float32)
    before, at = b.astype(np.float64), np.arange(BLOCK * BLOCK).reshape(BLOCK, BLOCK)
    with tilewright.engine("cpu") if races else contextlib.nullcontext():
        own_operand_kernel[(programs,)](a, b, c, HOW=how, B=BLOCK, num_threads=1)
    for pid in range(programs):
        operand = {
            "store": 2.0 * (at + pid), "atomic": 2 * (before + pid + 1), "store in the loop": 2.0 * (at + pid) + 1,
            "scale": 2 * before * (1 + pid), "mask": 2 * np.where(np.arange(BLOCK) < pid, before, 3)}[how]
        np.testing.assert_allclose(c[pid], a.astype(np.float64) @ operand, rtol=1e-4, atol=1e-1)


@triton.jit
def chosen_kernel(which_ptr, a_ptr, b_ptr, c_ptr, B: tl.constexpr):
    """A table tells by which B a program multiplies, and the program stores to memory that others have read."""
    pid, i = tl.program_id(0), tl.arange(0, B)
    at = i[:, None] * B + i[None, :]
    matrix = tl.load(which_ptr + pid)
    acc = tl.zeros((B, B), tl.float32)
    for step in range(0, 3):
        acc = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + (3 * matrix + step) * B * B + at), acc, input_precision="ieee")
    tl.store(c_ptr + pid * B * B + at, acc)


def test_a_table_says_which():
    which = np.array([2, 2, 2, 0, 0, 1, 2, 2, 1, 1, 1, 0], np.int32)
    a, b = random((BLOCK, BLOCK), "fp32", 1), random((9, BLOCK, BLOCK), "fp32", 2)
    c = np.zeros((len(which), BLOCK, BLOCK), np.float32)
    chosen_kernel[(len(which),)](which, a, b, c, B=BLOCK, num_threads=1)
    for pid, matrix in enumerate(which):
        np.testing.assert_allclose(c[pid], a.astype(np.float64) @ b[3 * matrix : 3 * matrix + 3].astype(np.float64).sum(0), atol=1e-3)


@triton.jit
def lengths_kernel(a_ptr, b_ptr, c_ptr, ends_of_a, end_of_b, K, B: tl.constexpr):
    """Programs multiply the same B by rows of A that end at different places."""
    pid, i = tl.program_id(0), tl.arange(0, B)
    end = ends_of_a * (pid + 1)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptr + (pid * B + i)[:, None] * K + (k + i)[None, :], mask=(k + i < end)[None, :], other=0)
        b = tl.load(b_ptr + (k + i)[:, None] * B + i[None, :], mask=(k + i < end_of_b)[:, None], other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + (pid * B + i)[:, None] * B + i[None, :], acc)


def test_rows_of_a_that_end_at_different_places():
    size, programs = 4 * BLOCK, 8
    a, b = random((programs * BLOCK, size), "fp32", 1), random((size, BLOCK), "fp32", 2)
    for ends, end_of_b in ((size, size), (size // 8, 9), (3, 2), (size // 8, size)):  # the first launch leaves no zeros
        c = np.zeros((programs * BLOCK, BLOCK), np.float32)
        lengths_kernel[(programs,)](a, b, c, ends, end_of_b, size, B=BLOCK, num_threads=1)
        for pid in range(programs):
            rows, end = slice(pid * BLOCK, (pid + 1) * BLOCK), min(ends * (pid + 1), end_of_b)
            np.testing.assert_allclose(c[rows], a[rows, :end].astype(np.float64) @ b[:end], rtol=1e-4, atol=1e-4)
