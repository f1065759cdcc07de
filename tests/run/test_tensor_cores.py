"""Products of sizes and types for tensor cores: all operand formats, both orders of either operand in memory, tiles that one
or several warpgroups share, operands that come from another product, accumulation over a loop."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import TF32, close, random, strides, wide


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, sam, sak, sbk, sbn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr, OUT: tl.constexpr,
):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.zeros((M, N), OUT)
    for start in range(0, K, STEP):
        a = tl.load(a_ptr + m[:, None] * sam + (start + k)[None, :] * sak)
        b = tl.load(b_ptr + (start + k)[:, None] * sbk + n[None, :] * sbn)
        acc = tl.dot(a, b, acc, out_dtype=OUT)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


def product(shape, dtype, transposed="", warps=4, iterations=2, out=(np.float32, tl.float32), **limits):
    m, n, step = shape
    k = step * iterations
    a = random((k, m), dtype, 1, **limits).T if "a" in transposed else random((m, k), dtype, 1, **limits)
    b = random((n, k), dtype, 2, **limits).T if "b" in transposed else random((k, n), dtype, 2, **limits)
    c = np.zeros((m, n), out[0])
    matmul_kernel[(1,)](a, b, c, *strides(a), *strides(b), M=m, N=n, K=k, STEP=step, OUT=out[1], num_warps=warps)
    return c, wide(a) @ wide(b), k


@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
@pytest.mark.parametrize("dtype", ["fp16", "bf16", "fp8e4nv", "fp8e5"])
def test_formats_and_directions(dtype, transposed, engine):
    c, expected, k = product((64, 64, 64), dtype, transposed)
    # Hopper adds up products of 8-bit floats with about 14 bits.
    close(c, expected, "fp16" if engine == "cuda" and "fp8" in dtype else "fp32", terms=k)


@pytest.mark.parametrize("transposed", ["", "a", "b"])
@pytest.mark.parametrize("shape", [(64, 64, 32), (16, 32, 16)])
def test_tf32(shape, transposed):
    c, expected, k = product(shape, "fp32", transposed)
    np.testing.assert_allclose(c, expected, rtol=0, atol=TF32 * np.sqrt(k) * 3)


@pytest.mark.parametrize("transposed", ["", "b"])
@pytest.mark.parametrize("shape", [(64, 32, 32), (128, 64, 64), (16, 16, 32)])
def test_int8(shape, transposed):
    c, expected, _ = product(shape, "int8", transposed, out=(np.int32, tl.int32))
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("shape, warps", [
    ((64, 8, 16), 4), ((64, 16, 16), 4), ((64, 256, 32), 4), ((128, 32, 16), 4), ((128, 128, 64), 8), ((64, 128, 64), 8), ((256, 64, 32), 4),
    ((64, 64, 128), 4), ((128, 256, 16), 8), ((64, 256, 16), 16), ((16, 16, 16), 1), ((32, 64, 32), 8), ((16, 128, 64), 4), ((64, 64, 64), 2),
])
@pytest.mark.parametrize("transposed", ["", "ab"])
def test_shapes(shape, warps, transposed):
    c, expected, k = product(shape, "fp16", transposed, warps)
    close(c, expected, "fp32", terms=k)


def test_result_of_16_bits():
    c, expected, k = product((64, 64, 32), "fp16", out=(np.float16, tl.float16))
    close(c, expected, "fp16", terms=k, scale=4.0)  # sums are rounded, too


@triton.jit
def chain_kernel(q_ptr, k_ptr, v_ptr, out_ptr, ITERATIONS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = tl.load(q_ptr + m[:, None] * D + d[None, :])
    q = (q * 0.5).to(q.dtype)
    acc = tl.zeros((M, D), tl.float32)
    total = tl.zeros((M,), tl.float32)
    for iteration in range(ITERATIONS):
        rows = iteration * N + n
        k = tl.load(k_ptr + rows[:, None] * D + d[None, :])
        v = tl.load(v_ptr + rows[:, None] * D + d[None, :])
        scores = tl.dot(q, tl.trans(k))
        weights = tl.maximum(scores, 0.0)
        total += tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * 0.5)
    tl.store(out_ptr + m[:, None] * D + d[None, :], acc + total[:, None])


@pytest.mark.parametrize("shape, warps", [((64, 32, 64), 4), ((128, 64, 32), 8), ((128, 32, 64), 4), ((16, 16, 16), 1), ((32, 64, 32), 4)])
@pytest.mark.parametrize("dtype", ["fp16", "fp8e5"])
def test_chained_matmul(shape, warps, dtype):
    """The numbers are small integers, so that every intermediate result is exact: a register that is overwritten too early changes the bits."""
    M, N, D = shape
    iterations = 3
    rng = np.random.default_rng(0)
    kind = random((1,), dtype).dtype
    q, k, v = (rng.integers(-1, 2, size).astype(kind) for size in [(M, D), (iterations * N, D), (iterations * N, D)])
    q = (q.astype(np.float32) * 2).astype(kind)
    out = np.zeros((M, D), np.float32)
    chain_kernel[(1,)](q, k, v, out, ITERATIONS=iterations, M=M, N=N, D=D, num_warps=warps)
    acc, total = np.zeros((M, D)), np.zeros(M)
    for iteration in range(iterations):
        part = slice(iteration * N, iteration * N + N)
        weights = np.maximum(wide(q) * 0.5 @ wide(k[part]).T, 0)
        total += weights.sum(1)
        acc = acc * 0.5 + weights.astype(kind).astype(np.float64) @ wide(v[part])
    np.testing.assert_array_equal(out, acc + total[:, None])


@triton.jit
def promoted_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr, EVERY: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.load(c_ptr + i[:, None] * N + j[None, :])
    for start in range(0, K, STEP):
        a = tl.load(a_ptr + i[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] + j[None, :] * K)
        acc = tl.dot(a, b, acc, max_num_imprecise_acc=EVERY)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@pytest.mark.parametrize("every, rows, columns", [
    (32, 64, 64), (48, 64, 64), (64, 64, 64), (128, 64, 64), (64, 64, 256), (128, 64, 256), (128, 128, 64), (64, 256, 32), (128, 128, 128)])
def test_sums_that_leave_the_tensor_cores(every, rows, columns, engine):
    """Tensor cores add up `every` products, in Hopper's 14 bits, and threads add these sums in fp32: at most 128 columns of 64 rows
    at a time."""
    a, b, c = random((rows, 384), "fp8e5", 1), random((columns, 384), "fp8e5", 2), random((rows, columns), "fp32", 3)
    expected = wide(a) @ wide(b).T + c
    promoted_kernel[(1,)](a, b, c, M=rows, N=columns, K=384, STEP=128, EVERY=every)
    close(c, expected, "fp16" if engine == "cuda" else "fp32", terms=384, scale=4.0)


@triton.jit
def precise_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.full((M, N), 3.0, tl.float32)
    for start in range(0, K, STEP):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("shape", [(64, 64, 32), (16, 32, 16), (32, 16, 8)])
@pytest.mark.parametrize("precision, bits", [("tf32x3", 20), ("bf16x3", 15), ("bf16x6", 22)])
def test_f32_in_several_mmas(precision, bits, shape):
    """The precision of each kind: two parts of tf32 hold 22 bits, two of bf16 hold 16, and three of bf16 all 24."""
    m, n, step = shape
    a, b, c = random((m, 2 * step), "fp32", 1), random((2 * step, n), "fp32", 2), np.zeros((m, n), np.float32)
    precise_kernel[(1,)](a, b, c, m, n, 2 * step, step, precision)
    np.testing.assert_allclose(c, 3 + wide(a) @ wide(b), rtol=0, atol=2.0**-bits * (3 + np.abs(wide(a)) @ np.abs(wide(b))).max())


@pytest.mark.parametrize("precision, bits", [("bf16x3", 15), ("bf16x6", 22)])
def test_numbers_beyond_those_of_bf16(precision, bits):
    """The largest numbers of f32 round to infinity in bf16."""
    a, b, c = np.zeros((16, 32), np.float32), random((32, 16), "fp32", 2) / 64, np.zeros((16, 16), np.float32)
    largest = np.array([3.3961776e38, 3.39618e38, 3.4e38, np.finfo(np.float32).max], np.float32)
    a[:4, 3], a[4:8, 7] = largest, -largest
    for left, right in (a, b), (np.ascontiguousarray(b.T), np.ascontiguousarray(a.T)):
        precise_kernel[(1,)](left, right, c, 16, 16, 32, 32, precision)
        np.testing.assert_allclose(c, 3 + wide(left) @ wide(right), rtol=2.0**-bits, atol=0)


@pytest.mark.parametrize("precision", ["tf32x3", "bf16x3", "bf16x6"])
def test_infinities_in_several_mmas(precision):
    a, b, c = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
    a[3, 5], a[4, 5], a[6, 0] = np.inf, -np.inf, np.nan
    precise_kernel[(1,)](a, b, c, 16, 16, 16, 16, precision)
    assert (c[3] == np.inf).all() and (c[4] == -np.inf).all() and np.isnan(c[6]).all()
    assert (np.delete(c, [3, 4, 6], axis=0) == 19).all()


def test_nan_with_low_bits_in_several_mmas():
    """The bits that tf32 has are those of an infinity."""
    a, b, c = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
    a.view(np.uint32)[3, 5] = 0x7F800001
    for precision in ("tf32x3", "bf16x3", "bf16x6"):
        precise_kernel[(1,)](a, b, c, 16, 16, 16, 16, precision)
        assert np.isnan(c[3]).all() and (np.delete(c, 3, axis=0) == 19).all()


@triton.jit
def scattered_kernel(a_ptr, b_ptr, c_ptr, rows_ptr, stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.dot(tl.load(a_ptr + m[:, None] * K + k[None, :]), tl.load(b_ptr + k[:, None] * N + n[None, :]))
    row = tl.load(rows_ptr + m)
    tl.store(c_ptr + row[:, None] * stride + n[None, :], x.to(c_ptr.dtype.element_ty), mask=(row < 3 * M // 4)[:, None])


@pytest.mark.parametrize("pad", [0, 1])
@pytest.mark.parametrize("dtype, out", [("fp16", np.float32), ("fp16", np.float16), ("int8", np.int32)])
@pytest.mark.parametrize("m, n, warps", [(32, 32, 4), (64, 32, 4), (64, 64, 8), (16, 128, 4), (128, 64, 4)])
def test_matmul_rows_stored_anywhere(m, n, warps, dtype, out, pad):
    """Accumulators change lanes or go through shared memory before wide stores."""
    a, b = random((m, 32), dtype, 1), random((32, n), dtype, 2)
    rows = np.random.default_rng(3).permutation(m).astype(np.int32)
    c, expected = np.full((m, n + pad), 7, out), np.full((m, n + pad), 7, np.float64)
    scattered_kernel[(1,)](a, b, c, rows, n + pad, m, n, 32, num_warps=warps)
    kept = rows < 3 * m // 4
    expected[rows[kept], :n] = (wide(a) @ wide(b))[kept]
    np.testing.assert_allclose(c, expected, rtol=2e-3, atol=2e-3 if out == np.float16 else 1e-4)
