"""Matmuls store their results directly, unless that could be observed."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES

M, N, K = 64, 32, 64  # of a tile


@triton.jit
def sum_kernel(a_ptr, b_ptr, c_ptr, at_a, at_b, at_c, rows, columns, steps, stride_a, stride_b, stride_c,
               stride_n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, ACC: tl.constexpr):
    """One program, one tile: C = A B, of `steps` tiles along K."""
    i, j, p = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    acc = tl.zeros((M, N), ACC)
    for step in range(steps):
        a = tl.load(a_ptr + at_a + i * stride_a + (step * K + p)[None, :])
        b = tl.load(b_ptr + at_b + (step * K + p)[:, None] * stride_b + j)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
    tl.store(c_ptr + at_c + i * stride_c + j * stride_n, acc, mask=(i < rows) & (j < columns))


def run_in(memory, at_a, at_b, at_c, rows=M, columns=N, steps=2, stride_c=None, stride_n=1):
    """A, B and C begin at these elements of `memory`. Returns it as the kernel leaves it, and as it should be."""
    is_integer = memory.dtype == np.int32
    operands = memory.view(np.int8) if is_integer else memory
    each = operands.itemsize
    stride_c = stride_c or N
    a = np.lib.stride_tricks.as_strided(operands[at_a:], (M, steps * K), (steps * K * each, each)).astype(np.float64)
    b = np.lib.stride_tricks.as_strided(operands[at_b:], (steps * K, N), (N * each, each)).astype(np.float64)
    expected, product = memory.copy(), a @ b
    for i in range(rows):
        for j in range(columns):
            expected[at_c + i * stride_c + j * stride_n] = product[i, j]
    sum_kernel[(1,)](operands, operands, memory, at_a, at_b, at_c, rows, columns, steps, steps * K, N,
                     stride_c, stride_n, M=M, N=N, K=K, ACC=tl.int32 if is_integer else tl.float32)
    return memory, expected


def numbers(count, dtype):
    if dtype == "int8":
        return np.random.default_rng(0).integers(-2**31, 2**31, count, np.int32)
    return np.random.default_rng(0).integers(-3, 4, count).astype(np.float32)  # whose sums are exact


LAYOUTS = {
    "apart": (0, 40000, 60000, {}),
    "a part of the tile": (0, 40000, 60000, {"rows": 63}),
    "a part of its columns": (0, 40000, 60000, {"columns": 31}),
    "nothing of it": (0, 40000, 60000, {"rows": 0}),
    "one iteration": (0, 40000, 60000, {"steps": 1}),
    "no turn": (0, 40000, 60000, {"steps": 0}),
    "rows that are wide apart": (0, 40000, 60000, {"stride_c": 77}),
    "rows from the last to the first": (0, 40000, 70000, {"stride_c": -40}),
    "rows in one place": (0, 40000, 60000, {"stride_c": 0}),
    "columns side by side": (0, 40000, 60000, {"stride_c": 1, "stride_n": M}),
    "over A": (0, 40000, 0, {}),
    "over the end of A": (0, 40000, 5000, {}),
    "over the beginning of A": (2000, 40000, 0, {}),
    "over B": (0, 40000, 40000, {}),
    "over both": (0, 1000, 500, {}),
}


@pytest.mark.parametrize("dtype", ["fp32", "int8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_tile(layout, dtype):
    at_a, at_b, at_c, given = LAYOUTS[layout]
    if dtype == "int8":
        at_a, at_b = at_a * 4, at_b * 4  # the same bytes
    if given.get("stride_c") == 0:
        memory, expected = run_in(numbers(80000, dtype), at_a, at_b, at_c, **{**given, "rows": 1})
    else:
        memory, expected = run_in(numbers(80000, dtype), at_a, at_b, at_c, **given)
    np.testing.assert_array_equal(memory, expected)


@triton.jit
def between_kernel(a_ptr, b_ptr, c_ptr, out_ptr, WHAT: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, M)
    at = i[:, None] * M + i[None, :]
    early = tl.load(out_ptr + at)
    acc = tl.zeros((M, M), tl.float32)
    kept = tl.zeros((M, M), tl.float32)
    for k in range(2):
        a = tl.load(a_ptr + i[:, None] * 2 * M + (k * M + i)[None, :])
        b = tl.load(b_ptr + k * M * M + at)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        if WHAT == "carried":
            kept = tl.load(out_ptr + at) + k
    if WHAT == "sum":
        total = tl.sum(tl.load(out_ptr + at))
        tl.store(c_ptr, total)
    if WHAT == "read":
        late = tl.load(out_ptr + at)
    tl.store(out_ptr + at, acc)
    if WHAT == "read":
        tl.store(c_ptr + at, late)
    elif WHAT == "early":
        tl.store(c_ptr + at, early)
    elif WHAT == "carried":
        tl.store(c_ptr + at, kept)
    elif WHAT == "twice":
        tl.store(c_ptr + at, acc)
    elif WHAT == "dot":
        tl.store(c_ptr + at, tl.dot(tl.load(out_ptr + at), early, input_precision="ieee"))


@pytest.mark.parametrize("what", ["nothing", "sum", "read", "early", "carried", "twice", "dot"])
def test_reads_see_what_was_there(what):
    m = 32
    rng = np.random.default_rng(1)
    a, b, out = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, 2 * m), (2 * m, m), (m, m)))
    before, c = out.copy(), np.full((m, m), 7, np.float32)
    product = a @ b
    wanted = {"nothing": c, "read": before, "early": before, "carried": before + 1, "twice": product, "dot": product @ before}
    wanted["sum"] = c.copy()
    wanted["sum"][0, 0] = before.sum()
    expected = wanted[what].copy()
    between_kernel[(1,)](a, b, c, out, WHAT=what, M=m)
    np.testing.assert_array_equal(out, product)
    np.testing.assert_array_equal(c, expected)


@triton.jit
def grid_kernel(a_ptr, b_ptr, c_ptr, size, K, B: tl.constexpr, D: tl.constexpr, ACC: tl.constexpr):
    i, p = tl.arange(0, B), tl.arange(0, D)
    rows, columns = tl.program_id(0) * B + i, tl.program_id(1) * B + i
    acc = tl.zeros((B, B), ACC)
    for k in range(0, K, D):
        a = tl.load(a_ptr + rows[:, None] * K + (k + p)[None, :], mask=(rows < size)[:, None] & (k + p < K)[None, :], other=0)
        b = tl.load(b_ptr + (k + p)[:, None] * size + columns[None, :], mask=(k + p < K)[:, None] & (columns < size)[None, :], other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
    tl.store(c_ptr + rows[:, None] * size + columns[None, :], acc, mask=(rows < size)[:, None] & (columns < size)[None, :])


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int8"])
@pytest.mark.parametrize("size, k, block, deep", [(128, 64, 64, 64), (129, 70, 64, 32), (256, 64, 128, 64), (1000, 16, 128, 16)])  # the last may stream
def test_many_tiles(size, k, block, deep, dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, shape).astype(DTYPES[dtype]) for shape in ((size, k), (k, size)))  # whose sums are exact
    expected = a.astype(np.float64) @ b.astype(np.float64)
    for threads in (1, 2):
        c = np.full((size, size), -1, np.int32 if dtype == "int8" else np.float32)
        grid = (triton.cdiv(size, block), triton.cdiv(size, block))
        grid_kernel[grid](a, b, c, size, k, B=block, D=deep, ACC=tl.int32 if dtype == "int8" else tl.float32, num_threads=threads)
        np.testing.assert_array_equal(c, expected)
