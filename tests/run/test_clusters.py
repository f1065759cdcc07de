"""Programs of several blocks (num_ctas): each block has a slice of the tiles, and blocks exchange the results that are combined across slices."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import close, random, strides, wide

CTAS = pytest.mark.parametrize("ctas", [2, 4])


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=mask) + tl.load(y_ptr + i, mask=mask), mask=mask)


@CTAS
@pytest.mark.parametrize("block", [256, 64, 2, 1])
def test_elementwise(ctas, block):
    x, y = random(300, "fp32", 1), random(300, "fp32", 2)
    out = np.zeros_like(x)
    add_kernel[(triton.cdiv(300, block),)](x, y, out, 300, BLOCK=block, num_ctas=ctas, num_warps=1)
    np.testing.assert_array_equal(out, x + y)


@triton.jit
def programs_kernel(out_ptr):
    pid = tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)
    tl.store(out_ptr + pid, pid * 100 + tl.num_programs(0) * 10 + tl.num_programs(1))


@CTAS
def test_programs_are_clusters(ctas):
    out = np.zeros(6, np.int32)
    programs_kernel[(3, 2)](out, num_ctas=ctas)
    np.testing.assert_array_equal(out, np.arange(6) * 100 + 32)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, M: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, KIND: tl.constexpr):
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * N + n[None, :])
    if KIND == "sum":
        result = tl.sum(x, AXIS)
    elif KIND == "argmax":
        result = tl.argmax(x, AXIS).to(tl.float32)
    else:
        # Both directions are tested, because one of them crosses the blocks.
        result = tl.max(x - tl.max(x, 1 - AXIS, keep_dims=True), AXIS)
    tl.store(out_ptr + (n if AXIS == 0 else m), result)


@CTAS
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("kind", ["sum", "argmax", "both"])
@pytest.mark.parametrize("shape", [(32, 64), (8, 16)])
def test_reductions(ctas, axis, kind, shape):
    x = random(shape, "fp32", 3)
    out = np.zeros(shape[1 - axis], np.float32)
    reduce_kernel[(1,)](x, out, M=shape[0], N=shape[1], AXIS=axis, KIND=kind, num_ctas=ctas)
    if kind == "sum":
        close(out, wide(x).sum(axis), "fp32", terms=shape[axis])
    elif kind == "argmax":
        np.testing.assert_array_equal(out, x.argmax(axis))
    else:
        np.testing.assert_array_equal(out, (x - x.max(1 - axis, keepdims=True)).max(axis))


@triton.jit
def total_kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    tl.store(out_ptr, tl.sum(x))
    tl.store(out_ptr + 1, tl.max(x))
    tl.store(out_ptr + 2, tl.argmin(x, 0).to(tl.int32))


@CTAS
@pytest.mark.parametrize("n", [512, 4, 2])
def test_reduction_to_scalars(ctas, n):
    x = random(n, "int32", 4, -1000, 1000)
    out = np.zeros(3, np.int32)
    total_kernel[(1,)](x, out, N=n, num_ctas=ctas, num_warps=2)
    np.testing.assert_array_equal(out, [x.sum(), x.max(), x.argmin()])


@triton.jit
def softmax_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + i, mask=i < n, other=float("-inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row + i, e / tl.sum(e, 0), mask=i < n)


@CTAS
def test_softmax(ctas):
    x = random((3, 200), "fp32", 5)
    out = np.zeros_like(x)
    softmax_kernel[(3,)](x, out, 200, BLOCK=256, num_ctas=ctas, num_warps=2)
    e = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    close(out, e / e.sum(1, keepdims=True), "fp32", terms=200)


@triton.jit
def shapes_kernel(x_ptr, out_ptr, scan_ptr, flip_ptr, count_ptr, rows_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    square = tl.reshape(x, (N // 8, 8))
    tl.store(out_ptr + tl.arange(0, 8)[:, None] * (N // 8) + tl.arange(0, N // 8)[None, :], tl.trans(square))
    tl.store(scan_ptr + i, tl.cumsum(x, 0))
    tl.store(flip_ptr + i, tl.gather(x, N - 1 - i, 0))
    tl.store(count_ptr + tl.arange(0, 16), tl.histogram(x, 16))
    cols = tl.arange(0, 8)[None, :] + tl.zeros((N // 8, 8), tl.int32)
    tl.store(rows_ptr + tl.arange(0, N // 8)[:, None] * 8 + tl.arange(0, 8)[None, :], tl.gather(square, 7 - cols, 1))


@CTAS
def test_changes_of_shape_scan_gather_histogram(ctas):
    n = 64
    x = random(n, "int32", 6, 0, 16)
    out, scan, flip, count = np.zeros((8, n // 8), np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros(16, np.int32)
    rows = np.zeros((n // 8, 8), np.int32)
    shapes_kernel[(1,)](x, out, scan, flip, count, rows, N=n, num_ctas=ctas, num_warps=2)
    np.testing.assert_array_equal(out, x.reshape(-1, 8).T)
    np.testing.assert_array_equal(rows, x.reshape(-1, 8)[:, ::-1])
    np.testing.assert_array_equal(scan, np.cumsum(x))
    np.testing.assert_array_equal(flip, x[::-1])
    np.testing.assert_array_equal(count, np.bincount(x, minlength=16))


@triton.jit
def atomics_kernel(sums_ptr, seen_ptr, lock_ptr, tickets_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.atomic_add(sums_ptr + i % 4, i)  # once for every element
    ticket = tl.atomic_add(lock_ptr, 1)  # once for each program, and all its blocks get the ticket
    tl.store(tickets_ptr + ticket * N + i, ticket + i)
    while tl.atomic_cas(lock_ptr + 1, 0, 1) == 1:
        pass
    seen = tl.load(seen_ptr, volatile=True)
    tl.debug_barrier()
    tl.store(seen_ptr, seen + 1)
    tl.atomic_xchg(lock_ptr + 1, 0)


@CTAS
def test_atomics(ctas):
    n, programs = 32, 3
    sums, seen, lock, tickets = np.zeros(4, np.int32), np.zeros(1, np.int32), np.zeros(2, np.int32), np.zeros((programs, n), np.int32)
    atomics_kernel[(programs,)](sums, seen, lock, tickets, N=n, num_ctas=ctas, num_warps=1)
    np.testing.assert_array_equal(sums, np.arange(n).reshape(-1, 4).sum(0) * programs)
    np.testing.assert_array_equal(tickets, np.arange(programs)[:, None] + np.arange(n))
    assert seen[0] == programs and lock[0] == programs and lock[1] == 0


@triton.jit
def own_memory_kernel(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    for round in range(3):
        x = tl.load(x_ptr + i)
        tl.debug_barrier()
        tl.store(x_ptr + (i + 1) % N, x)
        tl.debug_barrier()


@CTAS
def test_blocks_see_what_the_others_stored(ctas):
    x = random(64, "int32", 7)
    expected = np.roll(x, 3)
    own_memory_kernel[(1,)](x, N=64, num_ctas=ctas, num_warps=1)
    np.testing.assert_array_equal(x, expected)


@triton.autotune(configs=[triton.Config({"BN": 64}, num_ctas=2, num_warps=4)], key=["m", "n", "k"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + (rm % m)[:, None] * sam + rk[None, :] * sak
    b = b_ptr + rk[:, None] * sbk + (rn % n)[None, :] * sbn
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        acc = tl.dot(tl.load(a, mask=rk[None, :] < k - start, other=0.0), tl.load(b, mask=rk[:, None] < k - start, other=0.0), acc)
        a += BK * sak
        b += BK * sbk
    c = c_ptr + rm[:, None] * scm + rn[None, :] * scn
    tl.store(c, acc.to(tl.float16), mask=(rm[:, None] < m) & (rn[None, :] < n))


@pytest.mark.parametrize("rows", [128, 32, 16])
@pytest.mark.parametrize("ctas", [2, 4, "tuned"])
def test_matmul(ctas, rows):
    m, n, k = 144, 80, 96
    a, b = random((m, k), "fp16", 8), random((k, n), "fp16", 9)
    c = np.zeros((m, n), np.float16)
    grid = (triton.cdiv(m, rows), triton.cdiv(n, 64))
    arguments = (a, b, c, m, n, k, *strides(a), *strides(b), *strides(c))
    if ctas == "tuned":
        matmul_kernel[grid](*arguments, BM=rows, BK=32)
    else:
        matmul_kernel.fn[grid](*arguments, BM=rows, BN=64, BK=32, num_ctas=ctas)
    close(c, wide(a) @ wide(b), "fp16", terms=k)


@pytest.mark.parametrize("ctas, depth", [(2, 64), (4, 128), (8, 256)])
@pytest.mark.parametrize("dtype, rows", [("fp16", 64), ("fp16", 16), ("int8", 64), ("fp32", 16)])
def test_matmul_that_splits_k(ctas, depth, dtype, rows):
    """Each block multiplies a part of each step of K; all sums are added in a fixed order, so that results repeat."""
    m, n, k = 72, 96, 520
    a, b = random((m, k), dtype, 8), random((k, n), dtype, 9)
    results = [np.zeros((m, n), np.int32 if dtype == "int8" else np.float32) for _ in range(2)]
    for c in results:
        split_k_kernel[(triton.cdiv(m, rows), 2)](a, b, c, m, n, k, BM=rows, BN=64, BK=depth, num_ctas=ctas)
    np.testing.assert_array_equal(*results)
    if dtype == "int8":
        np.testing.assert_array_equal(results[0], a.astype(np.int32) @ b.astype(np.int32))
    else:
        close(results[0], wide(a) @ wide(b), "fp32", terms=k)


@triton.jit
def split_k_kernel(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), c_ptr.dtype.element_ty)
    for start in range(0, k, BK):
        rk = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * k + rk[None, :], mask=(rm[:, None] < m) & (rk[None, :] < k), other=0)
        b = tl.load(b_ptr + rk[:, None] * n + rn[None, :], mask=(rk[:, None] < k) & (rn[None, :] < n), other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=c_ptr.dtype.element_ty)
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], acc, mask=(rm[:, None] < m) & (rn[None, :] < n))


@triton.jit
def wide_matmul_kernel(a_ptr, b_ptr, c_ptr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.dot(tl.load(a_ptr + m[:, None] * K + k[None, :]), tl.load(b_ptr + k[:, None] * N + n[None, :]))
    tl.store(c_ptr + m[:, None] * N + n[None, :], x)


def test_blocks_of_columns_in_every_block():
    """128 columns of 16 bits are stored in two groups of 64, at a distance that the matrix descriptor contains."""
    a, b, c = random((256, 32), "fp16", 1), random((32, 128), "fp16", 2), np.zeros((256, 128), np.float32)
    wide_matmul_kernel[(1,)](a, b, c, M=256, N=128, K=32, num_ctas=2)
    close(c, wide(a) @ wide(b), "fp32", terms=32)


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, scale, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd, rn = tl.arange(0, D), tl.arange(0, BN)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        k = tl.load(k_ptr + (start + rn)[:, None] * D + rd[None, :])
        scores = tl.dot(q, tl.trans(k)) * scale
        now = tl.maximum(top, tl.max(scores, 1))
        p = tl.exp(scores - now[:, None])
        shrink = tl.exp(top - now)
        total = total * shrink + tl.sum(p, 1)
        v = tl.load(v_ptr + (start + rn)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * shrink[:, None])
        top = now
    tl.store(out_ptr + rm[:, None] * D + rd[None, :], acc / total[:, None])


@pytest.mark.parametrize("ctas, rows", [(2, 128), (2, 64), (4, 64), (4, 16)])
def test_attention(ctas, rows):
    n, d = 128, 64
    q, k, v = (random((n, d), "fp16", seed) for seed in (10, 11, 12))
    out = np.zeros((n, d), np.float32)
    attention_kernel[(n // rows,)](q, k, v, out, 0.125, n, D=d, BM=rows, BN=64, num_ctas=ctas)
    scores = wide(q) @ wide(k).T * 0.125
    p = np.exp(scores - scores.max(1, keepdims=True))
    close(out, (p / p.sum(1, keepdims=True)) @ wide(v), "fp16", terms=n)


@triton.jit
def long_rows_kernel(x_ptr, w_ptr, out_ptr, mean_ptr, rows, n, BLOCK: tl.constexpr):
    """Softmax of the rows, and their mean, times w: two exchanges in a loop, and one in a branch."""
    i = tl.arange(0, BLOCK)
    mask = i < n
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n + i, mask=mask, other=float("-inf"))
        e = tl.exp(x - tl.max(x, 0))
        w = tl.load(w_ptr + i, mask=mask, other=0.0)
        tl.store(out_ptr + row * n + i, e / tl.sum(e, 0) * w, mask=mask)
        if row % 2 == 0:
            tl.store(mean_ptr + row, tl.sum(tl.where(mask, x, 0.0), 0) / n)


@pytest.mark.parametrize("block, n", [(8192, 5000), (16384, 16384)])
def test_rows_that_one_block_does_not_hold(block, n):
    x, w = random((3, n), "fp32", 7), random(n, "fp32", 8)
    out, mean = np.zeros_like(x), np.zeros(3, np.float32)
    long_rows_kernel[(2,)](x, w, out, mean, 3, n, BLOCK=block, num_warps=1)
    e = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    close(out, e / e.sum(1, keepdims=True) * wide(w), "fp32", terms=n)
    close(mean[::2], wide(x).mean(1)[::2], "fp32", terms=n)


@triton.jit
def short_kernel(x_ptr, y_ptr, out_ptr, S: tl.constexpr, N: tl.constexpr, RESHAPES: tl.constexpr):
    s, i, j = tl.arange(0, S), tl.arange(0, N), tl.arange(0, N)
    at = s[:, None, None] * (N * N) + i[None, :, None] * N + j[None, None, :]
    x = tl.load(x_ptr + at)
    best, where = tl.max(x, 2, return_indices=True)
    best, where = tl.broadcast_to(best[:, :, None], (S, N, N)), tl.broadcast_to(where[:, :, None], (S, N, N))
    if RESHAPES:
        columns = tl.reshape(where, (N, S, N))
        columns = columns ^ tl.sum(columns, 0, keep_dims=True)
        columns = tl.reshape(columns, (S, N, N))
    else:
        columns = tl.permute(where, (1, 0, 2))
        columns = columns ^ tl.sum(columns, 0, keep_dims=True)
        columns = tl.permute(columns, (1, 0, 2))
    tl.store(out_ptr + at, tl.load(y_ptr + at), mask=where == best)
    tl.store(out_ptr + at + S * N * N, x)
    tl.store(out_ptr + at + 2 * S * N * N, columns)


@pytest.mark.parametrize("reshapes", [False, True])
@pytest.mark.parametrize("short, ctas", [(1, 2), (2, 4), (1, 4), (4, 2)])
def test_short_dimensions(short, ctas, reshapes):
    """A dimension with fewer elements than there are CTAs, next to longer ones, in permutations, reshapes and reductions."""
    n, rng = 16, np.random.default_rng(1)
    x, y = (rng.integers(0, n, (short, n, n)).astype(np.int32) for _ in range(2))
    out = np.zeros((3, short, n, n), np.int32)
    short_kernel[(1,)](x, y, out, S=short, N=n, RESHAPES=reshapes, num_ctas=ctas, num_warps=2)
    best, where = (np.broadcast_to(values[:, :, None], x.shape) for values in (x.max(2), x.argmax(2)))
    columns = where.reshape(n, short, n) if reshapes else where.transpose(1, 0, 2)
    columns = columns ^ columns.sum(0, keepdims=True)
    np.testing.assert_array_equal(out[0], np.where(where == best, y, 0))
    np.testing.assert_array_equal(out[1], x)
    np.testing.assert_array_equal(out[2], columns.reshape(x.shape) if reshapes else columns.transpose(1, 0, 2))


@triton.jit
def exchange_before_loop_kernel(
    x_ptr, a_ptr, b_ptr, c_ptr, out_ptr, depth, ROW: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):
    m, n = tl.arange(0, M), tl.arange(0, N)
    at = m[:, None] * N + n[None, :]
    x = tl.load(x_ptr + at)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        ks = k + tl.arange(0, K)
        a = tl.load(a_ptr + m[:, None] * ROW + ks[None, :], mask=ks[None, :] < depth, other=0)
        b = tl.load(b_ptr + n[None, :] * ROW + ks[:, None], mask=ks[:, None] < depth, other=0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + at, acc, mask=x < 50)
    tl.store(out_ptr + at, x.to(tl.float32) + acc)


@pytest.mark.parametrize("warps", [4, 8])
def test_exchange_before_a_loop(warps):
    """Threads move bytes of x through shared memory. The other CTA copies columns of b to this one's stages, perhaps before that."""
    m, n, depth, row = 128, 128, 256, 264  # rows that start within a sector of the L2: warps of their own copy
    a, b = random((m, row), "fp16", 1), random((n, row), "fp16", 2)
    x = np.random.default_rng(3).integers(0, 100, (m, n)).astype(np.int8)
    c, out = np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)
    exchange_before_loop_kernel[(1,)](x, a, b, c, out, depth, ROW=row, M=m, N=n, K=64, num_ctas=2, num_warps=warps)
    expected = wide(a)[:, :depth] @ wide(b)[:, :depth].T
    close(c, np.where(x < 50, expected, 0), "fp32", terms=depth, scale=4.0)
    close(out, expected + x, "fp32", terms=depth, scale=100.0)
