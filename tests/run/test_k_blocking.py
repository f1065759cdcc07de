"""K-blocking across iterations: several iterations with a small BLOCK_K are multiplied together, unless that could be observed."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES


def whole(shape, dtype, seed):
    """Small integers, whose products and sums are exact in every type."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(DTYPES[dtype])


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


@triton.jit
def tile_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm,
                B_M: tl.constexpr, B_N: tl.constexpr, B_K: tl.constexpr, ACC: tl.constexpr, WRAPS: tl.constexpr):
    rows, columns, p = tl.program_id(0) * B_M + tl.arange(0, B_M), tl.program_id(1) * B_N + tl.arange(0, B_N), tl.arange(0, B_K)
    stored = (rows < M)[:, None] & (columns < N)[None, :]
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :]
    in_rows, in_columns = rows < M, columns < N
    if WRAPS:
        rows, columns = rows % M, columns % N
        in_rows, in_columns = rows >= 0, columns >= 0
    a_ptrs = a_ptr + rows[:, None] * stride_am + p[None, :] * stride_ak
    b_ptrs = b_ptr + p[:, None] * stride_bk + columns[None, :] * stride_bn
    acc = tl.zeros((B_M, B_N), ACC)
    for k in range(0, K, B_K):
        a = tl.load(a_ptrs, mask=in_rows[:, None] & (p < K - k)[None, :], other=0)
        b = tl.load(b_ptrs, mask=(p < K - k)[:, None] & in_columns[None, :], other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
        a_ptrs += B_K * stride_ak
        b_ptrs += B_K * stride_bk
    tl.store(c_ptrs, acc, mask=stored)


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16", "int8", "fp64"])
@pytest.mark.parametrize("wraps", [False, True])
@pytest.mark.parametrize("m, n, k, blocks", [
    (64, 64, 512, (64, 64, 32)),   # whole stretches
    (50, 40, 300, (32, 32, 32)),   # rows, columns and K end within a tile
    (64, 32, 33, (32, 32, 32)),    # a second iteration of one element
    (64, 64, 16, (64, 64, 32)),    # less than an iteration
    (70, 64, 1000, (64, 64, 64)),
    (32, 32, 0, (32, 32, 32)),     # no iteration
])
def test_tiles(m, n, k, blocks, wraps, dtype):
    a, b = whole((m, k), dtype, 1), whole((k, n), dtype, 2)
    acc, out = {"int8": (tl.int32, np.int32), "fp64": (tl.float64, np.float64)}.get(dtype, (tl.float32, np.float32))
    for transposed_a, transposed_b in [(False, False), (True, False), (False, True)]:
        a_at = np.asfortranarray(a) if transposed_a else a
        b_at = np.asfortranarray(b) if transposed_b else b
        c = np.full((m, n), -1, out)
        strides = [step // array.itemsize for array in (a_at, b_at) for step in array.strides]
        tile_kernel[(triton.cdiv(m, blocks[0]), triton.cdiv(n, blocks[1]))](
            a_at, b_at, c, m, n, k, *strides, n, B_M=blocks[0], B_N=blocks[1], B_K=blocks[2], ACC=acc, WRAPS=wraps)
        np.testing.assert_array_equal(c, product(a, b))


@triton.jit
def steps_kernel(a_ptr, b_ptr, c_ptr, at_ptr, steps, M: tl.constexpr, K: tl.constexpr):
    """`at` has for the A of each iteration: the first column, the number of rows and the row stride."""
    i, p = tl.arange(0, M), tl.arange(0, K)
    acc = tl.zeros((M, M), tl.float32)
    for step in range(steps):
        at, rows, row_stride = tl.load(at_ptr + 3 * step), tl.load(at_ptr + 3 * step + 1), tl.load(at_ptr + 3 * step + 2)
        a = tl.load(a_ptr + i[:, None] * row_stride + (at + p)[None, :], mask=(i < rows)[:, None], other=0.0)
        b = tl.load(b_ptr + (step * K + p)[:, None] * M + i[None, :])
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + i[:, None] * M + i[None, :], acc)


IN_ORDER = [0, 16, 32, 48, 64, 80]
WIDTH = 16 * 70


@pytest.mark.parametrize("starts, rows, row_stride", [
    (IN_ORDER, [32] * 6, [WIDTH] * 6),
    ([0, 16, 64, 80, 96, 0], [32] * 6, [WIDTH] * 6),  # with a gap, and back to the start
    ([48, 32, 16, 0, 0, 0], [32] * 6, [WIDTH] * 6),   # backwards, then on the spot
    (IN_ORDER, [32, 32, 7, 32, 32, 32], [WIDTH] * 6),  # some rows of one iteration are masked off
    (IN_ORDER, [32, 32, 32, 32, 32, 0], [WIDTH] * 6),
    (IN_ORDER, [3, 3, 3, 3, 3, 32], [WIDTH] * 6),
    (IN_ORDER, [32] * 6, [WIDTH, WIDTH, 100, 100, 7, WIDTH]),  # other rows that begin in the right place
    (list(range(0, WIDTH, 16)), [32] * 70, [WIDTH] * 70),      # more than one stretch
])
def test_iterations_that_are_not_contiguous(starts, rows, row_stride):
    m, k, steps = 32, 16, len(starts)
    a, b = whole((m * WIDTH,), "fp32", 1), whole((steps * k, m), "fp32", 2)
    at = np.array([starts, rows, row_stride], np.int32).T.copy()
    expected = np.zeros((m, m))
    for step, (start, count, stride) in enumerate(zip(starts, rows, row_stride)):
        places = start + np.arange(count)[:, None] * stride + np.arange(k)
        expected[:count] += product(a[places], b[step * k:(step + 1) * k])
    c = np.full((m, m), -1, np.float32)
    steps_kernel[(1,)](a, b, c, at, steps, M=m, K=k)
    np.testing.assert_array_equal(c, expected)


@triton.jit
def over_a_kernel(memory_ptr, at_a, at_b, at_c, steps, stride_a, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j, p = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for step in range(steps):
        a = tl.load(memory_ptr + at_a + i[:, None] * stride_a + (step * K + p)[None, :])
        b = tl.load(memory_ptr + at_b + (step * K + p)[:, None] * N + j[None, :])
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(memory_ptr + at_c + i[:, None] * N + j[None, :], acc)


@pytest.mark.parametrize("at_c", [0, 100, 328, 1200, 1352, 1400, 9000, 20000])
def test_results_over_operands(at_c):
    """The stores at 328 end at the start of the last iteration's A, and overwrite memory that earlier iterations still read."""
    m, n, k, steps = 16, 64, 32, 12
    at_a, at_b = 1000, 20000
    memory = whole((50000,), "fp32", 1)
    a = memory[at_a:at_a + m * steps * k].reshape(m, -1)
    b = memory[at_b:at_b + steps * k * n].reshape(-1, n)
    expected = memory.copy()
    expected[at_c:at_c + m * n] = product(a, b).ravel()
    over_a_kernel[(1,)](memory, at_a, at_b, at_c, steps, steps * k, M=m, N=n, K=k)
    np.testing.assert_array_equal(memory, expected)


@triton.jit
def other_accesses_kernel(a_ptr, b_ptr, c_ptr, out_ptr, steps, WHAT: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    """Loops that do something else as well."""
    i, p = tl.arange(0, M), tl.arange(0, K)
    stride_a = steps * K
    acc = tl.zeros((M, M), tl.float32)
    if WHAT == "starts":
        acc = tl.load(c_ptr + i[:, None] * M + i[None, :])
    second = tl.zeros((M, M), tl.float32)
    total = tl.zeros((M,), tl.float32)
    seen = 0.0
    for step in range(steps):
        a = tl.load(a_ptr + i[:, None] * stride_a + (step * K + p)[None, :])
        b = tl.load(b_ptr + (step * K + p)[:, None] * M + i[None, :])
        if WHAT == "row sums":
            total += tl.sum(a * a, axis=1)
        if WHAT == "scaled":
            a = a * (step % 2 + 1)
        if WHAT == "reads the old sum":
            seen += tl.sum(acc)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        if WHAT == "two sums":
            second = tl.dot(a * 2, tl.sort(b), second, input_precision="ieee")
        if WHAT == "reads the sum":
            seen += tl.sum(acc)
        if WHAT == "changes the sum":
            acc = acc * 0.5
        if WHAT == "stores to A":
            tl.debug_barrier()
            tl.store(a_ptr + i[:, None] * stride_a + (step * K + p)[None, :], a * 0)
    if WHAT == "row sums":
        tl.store(out_ptr + i, total)
    if WHAT == "two sums":
        tl.store(out_ptr + i[:, None] * M + i[None, :], second)
    if WHAT == "reads the sum" or WHAT == "reads the old sum":
        tl.store(out_ptr, seen)
    tl.store(c_ptr + i[:, None] * M + i[None, :], acc)


@pytest.mark.parametrize("what", ["starts", "row sums", "scaled", "two sums", "reads the sum", "reads the old sum", "changes the sum", "stores to A"])
def test_other_accesses_next_to_the_matmul(what):
    m, k, steps = 32, 32, 11
    a, b, c = whole((m, steps * k), "fp32", 1), whole((steps * k, m), "fp32", 2), whole((m, m), "fp32", 3)
    out, wanted_out, acc, seen = np.zeros((m, m), np.float32), np.zeros((m, m)), np.zeros((m, m)), 0.0
    expected = c * (what == "starts") + product(a, b)
    parts = [(a[:, s * k:(s + 1) * k], b[s * k:(s + 1) * k]) for s in range(steps)]
    if what == "row sums":
        wanted_out.ravel()[:m] = (a.astype(np.float64) ** 2).sum(axis=1)
    if what == "scaled":
        expected = sum(product(x * (s % 2 + 1), y) for s, (x, y) in enumerate(parts))
    if what == "two sums":
        wanted_out = sum(product(2 * x, np.sort(y)) for x, y in parts)
    for x, y in parts:
        seen += acc.sum() * (what == "reads the old sum")
        acc += product(x, y)
        seen += acc.sum() * (what == "reads the sum")
        acc *= 0.5 if what == "changes the sum" else 1
    if what.startswith("reads"):
        wanted_out[0, 0] = seen
    if what == "changes the sum":
        expected = acc
    other_accesses_kernel[(1,)](a, b, c, out, steps, WHAT=what, M=m, K=k)
    np.testing.assert_array_equal(c, expected)
    np.testing.assert_array_equal(out, wanted_out)
    if what == "stores to A":
        assert not a.any()


@triton.jit
def nested_kernel(a_ptr, b_ptr, c_ptr, outer, steps, M: tl.constexpr, K: tl.constexpr):
    i, p = tl.arange(0, M), tl.arange(0, K)
    for tile in range(outer):
        acc = tl.zeros((M, M), tl.float32)
        for step in range(steps):
            a = tl.load(a_ptr + (tile * M + i)[:, None] * steps * K + (step * K + p)[None, :])
            b = tl.load(b_ptr + (step * K + p)[:, None] * M + i[None, :])
            acc = tl.dot(a, b, acc, input_precision="ieee")
        tl.store(c_ptr + (tile * M + i)[:, None] * M + i[None, :], acc)


@pytest.mark.parametrize("steps", [1, 3, 8, 9, 16, 19])
def test_tile_after_tile(steps):
    m, k, outer = 32, 32, 3
    a, b = whole((outer * m, steps * k), "fp32", 1), whole((steps * k, m), "fp32", 2)
    c = np.full((outer * m, m), -1, np.float32)
    nested_kernel[(1,)](a, b, c, outer, steps, M=m, K=k)
    np.testing.assert_array_equal(c, product(a, b))


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
def test_panels_are_kept_for_later_programs(dtype):
    """Programs down a column multiply by the same B; those of the last row and column have less of it."""
    m, n, k = 300, 200, 700
    a, b = whole((m, k), dtype, 1), whole((k, n), dtype, 2)
    for threads in (1, 2):
        c = np.full((m, n), -1, np.int32 if dtype == "int8" else np.float32)
        tile_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 64))](
            a, b, c, m, n, k, k, 1, n, 1, n, B_M=32, B_N=64, B_K=32, ACC=tl.int32 if dtype == "int8" else tl.float32, WRAPS=False,
            num_threads=threads)
        np.testing.assert_array_equal(c, product(a, b))
