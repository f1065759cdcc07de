"""tl.dot: shapes from one element to a GPU's tiles, dtypes, transposed operands, accumulators, batches, K loops."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, close, random, strides, wide


@triton.jit
def dot_kernel(
    a_ptr, b_ptr, c_ptr, stride_am, stride_ak, stride_bk, stride_bn,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak)
    b = tl.load(b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn)
    c = tl.dot(a, b, out_dtype=OUT, input_precision="ieee")
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


def dot(a, b, out_dtype=np.float32, out=tl.float32):
    (m, k), n = a.shape, b.shape[1]
    c = np.zeros((m, n), out_dtype)
    dot_kernel[(1,)](a, b, c, *strides(a), *strides(b), M=m, N=n, K=k, OUT=out)
    return c


SHAPES = [(1, 1, 1), (1, 16, 16), (16, 1, 8), (2, 4, 1), (4, 8, 2), (16, 16, 16), (32, 64, 16), (64, 32, 128), (128, 128, 32), (8, 256, 64)]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape):
    m, n, k = shape
    a, b = random((m, k), "fp32", 1), random((k, n), "fp32", 2)
    close(dot(a, b), wide(a) @ wide(b), "fp32", terms=k)


@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32", "fp8e5", "fp8e4nv"])
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_dtypes_and_transposed_operands(dtype, transposed):
    m, n, k = 32, 64, 32
    a = random((k, m), dtype, 1).T if "a" in transposed else random((m, k), dtype, 1)
    b = random((n, k), dtype, 2).T if "b" in transposed else random((k, n), dtype, 2)
    # Products of these types are exact in fp32, where they are added up.
    close(dot(a, b), wide(a) @ wide(b), "fp32", terms=k)


@triton.jit
def squares_kernel(a_ptr, c_ptr, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    x = tl.load(a_ptr + i[:, None] * SIZE + i[None, :])
    d = tl.dot(x.T, x.T) + tl.dot(x, x.T)
    tl.store(c_ptr + i[:, None] * SIZE + i[None, :], d)


@pytest.mark.parametrize("size", [16, 64])
def test_one_tile_as_both_operands(size):
    a = random((size, size), "fp16", 3)
    c = np.zeros((size, size), np.float32)
    squares_kernel[(1,)](a, c, SIZE=size)
    x = wide(a)
    close(c, x.T @ x.T + x @ x.T, "fp16", terms=2 * size)


def test_fp64():
    a, b = random((16, 32), "fp64", 1), random((32, 16), "fp64", 2)
    close(dot(a, b, np.float64, tl.float64), a @ b, "fp64", terms=32)


@pytest.mark.parametrize("shape", [(16, 16, 32), (64, 32, 64), (128, 128, 64)])
def test_int8_is_exact(shape):
    m, n, k = shape
    a, b = random((m, k), "int8", 1), random((k, n), "int8", 2)
    a[0], b[:, 0] = -128, -128  # the largest possible product, K times
    np.testing.assert_array_equal(dot(a, b, np.int32, tl.int32), a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize("dtype", ["int8", "bf16"])
@pytest.mark.parametrize("shape", [(4, 1, 4), (1, 2, 8), (4, 4, 1), (2, 4, 2), (8, 4, 4), (16, 8, 64), (32, 16, 8), (16, 128, 128), (64, 64, 16)])
def test_narrow_operands_lie_in_groups(shape, dtype, transposed):
    """CPUs multiply two or four neighbors along K at once, if there are so many."""
    m, n, k = shape
    a = random((k, m), dtype, 1).T if "a" in transposed else random((m, k), dtype, 1)
    b = random((n, k), dtype, 2).T if "b" in transposed else random((k, n), dtype, 2)
    if dtype == "int8":
        np.testing.assert_array_equal(dot(a, b, np.int32, tl.int32), a.astype(np.int32) @ b.astype(np.int32))
    else:
        close(dot(a, b), wide(a) @ wide(b), "fp32", terms=k)


@triton.jit
def chain_kernel(q_ptr, k_ptr, v_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    k = tl.load(k_ptr + n[:, None] * D + d[None, :])
    v = tl.load(v_ptr + n[:, None] * D + d[None, :])
    scores = tl.dot(q, tl.trans(k), input_precision="ieee")
    scores = tl.where(scores > 0, scores, scores * 0.1)
    acc = tl.full((M, D), 1.0, tl.float32)
    tl.store(out_ptr + m[:, None] * D + d[None, :], tl.dot(scores, v, acc, input_precision="ieee"))


def test_two_dots_with_an_initial_value():
    q, k, v = (random((32, 16), "fp32", seed) for seed in (1, 2, 3))
    out = np.zeros((32, 16), np.float32)
    chain_kernel[(1,)](q, k, v, out, M=32, N=32, D=16)
    scores = wide(q) @ wide(k).T
    close(out, np.where(scores > 0, scores, 0.1 * scores) @ wide(v) + 1, "fp32", terms=16 * 32, scale=4.0)


@triton.jit
def batched_kernel(a_ptr, b_ptr, c_ptr, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i = tl.arange(0, B)[:, None, None]
    m, n = tl.arange(0, M), tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(a_ptr + i * M * K + m[None, :, None] * K + k[None, None, :])
    b = tl.load(b_ptr + i * K * N + k[None, :, None] * N + n[None, None, :])
    tl.store(c_ptr + i * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(a, b, input_precision="ieee"))


@pytest.mark.parametrize("shape", [(4, 16, 16, 32), (2, 16, 16, 1), (4, 32, 64, 1), (2, 32, 32, 2)])
@pytest.mark.parametrize("dtype", ["fp32", "bf16", "int8"])
def test_batches(dtype, shape):
    count, m, n, k = shape
    a, b = random((count, m, k), dtype, 1), random((count, k, n), dtype, 2)
    c = np.zeros((count, m, n), np.int32 if dtype == "int8" else np.float32)
    batched_kernel[(1,)](a, b, c, B=count, M=m, N=n, K=k)
    close(c, wide(a) @ wide(b), "fp32", terms=k)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, scm, scn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * sam + (start + k)[None, :] * sak, mask=(m[:, None] < M) & (start + k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (start + k)[:, None] * sbk + n[None, :] * sbn, mask=(start + k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    c = c_ptr + m[:, None] * scm + n[None, :] * scn
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("blocks", [(16, 16, 16), (64, 32, 32), (128, 128, 32)])
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 3, 100), (70, 131, 65)])
def test_matmul(sizes, dtype, blocks):
    m, n, k = sizes
    a, b = random((m, k), dtype, 1), random((n, k), dtype, 2).T
    c = np.zeros((n, m), DTYPES[dtype]).T
    grid = (triton.cdiv(m, blocks[0]), triton.cdiv(n, blocks[1]))
    matmul_kernel[grid](a, b, c, m, n, k, *strides(a), *strides(b), *strides(c), BLOCK_M=blocks[0], BLOCK_N=blocks[1], BLOCK_K=blocks[2])
    close(c, wide(a) @ wide(b), dtype, terms=k)


@triton.jit
def bounded_kernel(a_ptr, b_ptr, c_ptr, rows, depth, columns, first: tl.constexpr):
    i = tl.arange(0, 64)
    row = i + first
    a = tl.load(a_ptr + row[:, None] * 64 + i[None, :], mask=((row >= 0) & (row < rows))[:, None] & (i < depth)[None, :], other=0)
    b = tl.load(b_ptr + i[:, None] * 64 + i[None, :])
    tl.store(c_ptr + i[:, None] * 64 + i[None, :], tl.dot(a, b) + 1, mask=(i < rows)[:, None] & (i < columns)[None, :])


@pytest.mark.parametrize("sizes", [(0, 64, 64), (-3, 64, 64), (64, 0, 64), (5, -1, 64), (64, 7, 0), (9, 64, 10)])
@pytest.mark.parametrize("first", [0, -3])
def test_bounds_that_let_little_through(sizes, first):
    rows, depth, columns = sizes
    a, b = random((64, 64), "fp16", 1), random((64, 64), "fp16", 2)
    c = np.full((64, 64), 7, np.float32)
    bounded_kernel[(1,)](a, b, c, rows, depth, columns, first=first)
    rows, depth, columns = (max(size, 0) for size in sizes)
    loaded = np.zeros((64, 64))
    loaded[-first : rows - first, :depth] = wide(a)[: min(rows, 64 + first), :depth]
    expected = np.full((64, 64), 7.0)
    expected[:rows, :columns] = (loaded @ wide(b) + 1)[:rows, :columns]
    close(c, expected, "fp16", terms=64)


@triton.jit
def allowing_kernel(a_ptr, b_ptr, c_ptr, allow):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), allow_tf32=allow))


@pytest.mark.parametrize("allow", [True, False])
def test_allow_tf32_that_only_the_launch_knows(allow):
    a, b = random((16, 16), "fp16", 1), random((16, 16), "fp16", 2)
    c = np.zeros((16, 16), np.float32)
    allowing_kernel[(1,)](a, b, c, allow)
    close(c, wide(a) @ wide(b), "fp16", terms=16)


@triton.jit
def summing_kernel(
    a_ptr, b_ptr, c_ptr, rows_ptr, M, N, K, ACC: tl.constexpr, FORM: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    m, n, k = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), ACC)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & (start + k[None, :] < K), other=0)
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :], mask=(start + k[:, None] < K) & (n[None, :] < N), other=0)
        if FORM == "read":
            tl.store(rows_ptr + tl.program_id(1) * M + m, tl.sum(acc.to(tl.float32), 1), mask=m < M)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
        if FORM == "twice":
            acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
        if FORM == "doubled":
            acc = acc * 2
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


# Scratch holds what the program before has left there: no product may take that for the zeros that its sums start from.
@pytest.mark.parametrize("form", ["plain", "twice", "doubled", "read"])
@pytest.mark.parametrize("dtype, acc", [("fp32", "float32"), ("fp16", "float16"), ("bf16", "float32"), ("int8", "int32")])
@pytest.mark.parametrize("sizes", [(70, 131, 65), (64, 64, 0), (1, 40, 33), (40, 1, 33), (130, 66, 32)])
def test_sums_start_from_zero(sizes, dtype, acc, form):
    m, n, k = sizes
    blocks = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, shape).astype(DTYPES[dtype]) for shape in ((m, max(k, 1)), (max(k, 1), n)))
    kinds = {"float32": np.float32, "float16": np.float16, "int32": np.int32}
    c, rows = np.full((m, n), 7, kinds[acc]), np.zeros(m * triton.cdiv(n, 32), np.float32)
    expected = np.zeros((m, n))
    for start in range(0, k, 32):
        part = wide(a[:, start : start + 32]) @ wide(b[start : start + 32])
        expected = (expected + part) * 2 if form == "doubled" else expected + part * (2 if form == "twice" else 1)
    for _ in range(2):
        summing_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, c, rows, m, n, k, getattr(tl, acc), form, **blocks, num_threads=1)
        np.testing.assert_array_equal(c.astype(np.float64), expected)
