"""Kernels in which one warp starts the copies and the others multiply: sizes at which rings drain, run again, and continue in a second loop."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def attend(acc, row_sum, row_max, q, k_ptr, v_ptr, first, last, n, HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr, MASKED: tl.constexpr):
    offs_d = tl.arange(0, HEAD_DIM)
    for start in range(first, last, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        k_ptrs = k_ptr + offs_d[:, None] + offs_n[None, :] * HEAD_DIM
        v_ptrs = v_ptr + offs_n[:, None] * HEAD_DIM + offs_d[None, :]
        if MASKED:
            k = tl.load(k_ptrs, mask=offs_n[None, :] < n, other=0.0)
            v = tl.load(v_ptrs, mask=offs_n[:, None] < n, other=0.0)
        else:
            k = tl.load(k_ptrs)
            v = tl.load(v_ptrs)
        scores = tl.dot(q, k)
        if MASKED:
            scores = tl.where(offs_n[None, :] < n, scores, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        weights = tl.exp2(scores - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * rescale[:, None])
        row_max = new_max
    return acc, row_sum, row_max


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    rows = offs_m[:, None] < n
    q = tl.load(q_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], mask=rows, other=0.0)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    full = n // BLOCK_N * BLOCK_N
    acc, row_sum, row_max = attend(acc, row_sum, row_max, q, k_ptr, v_ptr, 0, full, n, HEAD_DIM, BLOCK_N, False)
    acc, row_sum, row_max = attend(acc, row_sum, row_max, q, k_ptr, v_ptr, full, n, n, HEAD_DIM, BLOCK_N, True)
    tl.store(out_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], (acc / row_sum[:, None]).to(tl.float16), mask=rows)


@pytest.mark.parametrize("n, stages", [(40, 3), (128, 2), (128, 3), (300, 3), (640, 3)])
def test_attention(n, stages):
    rng = np.random.default_rng(n)
    q, k, v = (rng.standard_normal((n, 64)).astype(np.float16) for _ in range(3))
    out = np.full_like(q, np.nan)
    attention_kernel[(triton.cdiv(n, 128),)](q, k, v, out, n, HEAD_DIM=64, BLOCK_M=128, BLOCK_N=128, num_warps=8, num_stages=stages)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    want = weights @ v.astype(np.float64) / weights.sum(axis=1, keepdims=True)
    assert np.linalg.norm(out - want) <= 4e-3 * np.linalg.norm(want)


@triton.jit
def branching_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """The sum is scaled in a branch, which belongs to the second dot."""
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], mask=offs_m[:, None] < n, other=0.0)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    for start in range(0, n, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + offs_d[:, None] + offs_n[None, :] * HEAD_DIM, mask=offs_n[None, :] < n, other=0.0)
        v = tl.load(v_ptr + offs_n[:, None] * HEAD_DIM + offs_d[None, :], mask=offs_n[:, None] < n, other=0.0)
        scores = tl.where(offs_n[None, :] < n, tl.dot(q, k), -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        weights = tl.exp2(scores - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        if start > 0:
            acc = acc * rescale[:, None]
        acc = acc + tl.dot(weights.to(v.dtype), v)
        row_max = new_max
    tl.store(out_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], (acc / row_sum[:, None]).to(tl.float16), mask=offs_m[:, None] < n)


@pytest.mark.parametrize("n", [40, 128, 300, 640])
def test_attention_with_a_branch(n):
    rng = np.random.default_rng(n)
    q, k, v = (rng.standard_normal((n, 64)).astype(np.float16) for _ in range(3))
    out = np.full_like(q, np.nan)
    branching_kernel[(triton.cdiv(n, 128),)](q, k, v, out, n, HEAD_DIM=64, BLOCK_M=128, BLOCK_N=128, num_warps=8, num_stages=2)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    want = weights @ v.astype(np.float64) / weights.sum(axis=1, keepdims=True)
    assert np.linalg.norm(out - want) <= 4e-3 * np.linalg.norm(want)


@triton.jit
def walking_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, out_ptr, n, programs, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    """A program loops over tiles of queries; each key has a bias; the sum is scaled separately from the product."""
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK_M), programs):
        offs_m = tile * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_d = tl.arange(0, HEAD_DIM)
        q = tl.load(q_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], mask=offs_m[:, None] < n, other=0.0)
        acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
        row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
        row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
        last = n
        if CAUSAL:
            last = min((tile + 1) * BLOCK_M, n)
        for start in range(0, last, BLOCK_N):
            offs_n = start + tl.arange(0, BLOCK_N)
            k = tl.load(k_ptr + offs_d[:, None] + offs_n[None, :] * HEAD_DIM, mask=offs_n[None, :] < n, other=0.0)
            v = tl.load(v_ptr + offs_n[:, None] * HEAD_DIM + offs_d[None, :], mask=offs_n[:, None] < n, other=0.0)
            bias = tl.load(bias_ptr + offs_n, mask=offs_n < n, other=0.0)
            scores = tl.dot(q, k) * 0.5 + bias[None, :]
            seen = offs_n[None, :] < n
            if CAUSAL:
                seen = seen & (offs_n[None, :] <= offs_m[:, None])
            scores = tl.where(seen, scores, -float("inf"))
            new_max = tl.maximum(row_max, tl.max(scores, 1))
            weights = tl.exp2(scores - new_max[:, None])
            rescale = tl.exp2(row_max - new_max)
            row_sum = row_sum * rescale + tl.sum(weights, 1)
            acc = acc * rescale[:, None] + tl.dot(weights.to(v.dtype), v)
            row_max = new_max
        tl.store(out_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], (acc / row_sum[:, None]).to(tl.float16), mask=offs_m[:, None] < n)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("n, programs", [(128, 1), (400, 2), (640, 2)])
def test_attention_that_walks(n, programs, causal):
    rng = np.random.default_rng(n)
    q, k, v = (rng.standard_normal((n, 64)).astype(np.float16) for _ in range(3))
    bias = rng.standard_normal(n).astype(np.float32)
    out = np.full_like(q, np.nan)
    walking_kernel[(programs,)](q, k, v, bias, out, n, programs, HEAD_DIM=64, BLOCK_M=128, BLOCK_N=128, CAUSAL=causal, num_warps=8, num_stages=3)
    scores = q.astype(np.float64) @ k.astype(np.float64).T * 0.5 + bias
    if causal:
        scores = np.where(np.tri(n, dtype=bool), scores, -np.inf)
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    want = weights @ v.astype(np.float64) / weights.sum(axis=1, keepdims=True)
    assert np.linalg.norm(out - want) <= 4e-3 * np.linalg.norm(want)


@triton.jit
def persistent_kernel(a_ptr, b_ptr, out_ptr, M, N, K, programs, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    columns = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * columns, programs, warp_specialize=True):
        offs_m = tile // columns * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = tile % columns * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            offs_k = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def check_persistent_matmul(M, N, K, block, warps):
    rng = np.random.default_rng(M + N + K)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    out = np.full((M, N), np.nan, np.float32)
    persistent_kernel[(2,)](a, b, out, M, N, K, 2, BLOCK_M=block, BLOCK_N=128, BLOCK_K=64, num_warps=warps, num_stages=3)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("M, N, K", [(128, 128, 64), (256, 256, 32), (256, 384, 320), (200, 136, 0), (136, 264, 200)])
def test_persistent_matmul(M, N, K):
    check_persistent_matmul(M, N, K, 128, 8)


@pytest.mark.parametrize("block, warps", [(64, 4), (128, 4), (128, 16)])
@pytest.mark.parametrize("M, N, K", [(256, 384, 320), (136, 264, 200)])
def test_one_warpgroup_and_four(M, N, K, block, warps):
    check_persistent_matmul(M, N, K, block, warps)


@triton.jit
def asked_attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], mask=offs_m[:, None] < n, other=0.0)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    row_sum = tl.zeros((BLOCK_M,), dtype=tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    for start in tl.range(0, n, BLOCK_N, warp_specialize=True):
        offs_n = start + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + offs_d[:, None] + offs_n[None, :] * HEAD_DIM, mask=offs_n[None, :] < n, other=0.0)
        v = tl.load(v_ptr + offs_n[:, None] * HEAD_DIM + offs_d[None, :], mask=offs_n[:, None] < n, other=0.0)
        scores = tl.where(offs_n[None, :] < n, tl.dot(q, k), -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        weights = tl.exp2(scores - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v.dtype), v, acc * rescale[:, None])
        row_max = new_max
    tl.store(out_ptr + offs_m[:, None] * HEAD_DIM + offs_d[None, :], (acc / row_sum[:, None]).to(tl.float16), mask=offs_m[:, None] < n)


@pytest.mark.parametrize("block, warps", [(64, 4), (128, 8), (256, 16)])
@pytest.mark.parametrize("n, stages", [(128, 2), (300, 3)])
def test_attention_that_asks(n, stages, block, warps):
    rng = np.random.default_rng(n)
    q, k, v = (rng.standard_normal((n, 64)).astype(np.float16) for _ in range(3))
    out = np.full_like(q, np.nan)
    asked_attention_kernel[(triton.cdiv(n, block),)](
        q, k, v, out, n, HEAD_DIM=64, BLOCK_M=block, BLOCK_N=64, num_warps=warps, num_stages=stages)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    weights = np.exp2(scores - scores.max(axis=1, keepdims=True))
    want = weights @ v.astype(np.float64) / weights.sum(axis=1, keepdims=True)
    assert np.linalg.norm(out - want) <= 4e-3 * np.linalg.norm(want)


@triton.jit
def described_kernel(a, b, out, M, N, K, programs: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                     HALVES: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    out_desc = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BLOCK_M, BLOCK_N // 2 if HALVES else BLOCK_N])
    columns = tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * columns, programs):
        row, column = tile // columns * BLOCK_M, tile % columns * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]), acc)
        if HALVES:
            left, right = acc.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1).split()
            out_desc.store([row, column], left.to(tl.float16))
            out_desc.store([row, column + BLOCK_N // 2], right.to(tl.float16))
        else:
            out_desc.store([row, column], acc.to(tl.float16))


@pytest.mark.parametrize("halves", [False, True])
@pytest.mark.parametrize("M, N, K", [(128, 128, 64), (256, 384, 32), (200, 264, 200), (72, 136, 520)])
def test_warpgroups_store_their_own_rows(M, N, K, halves):
    rng = np.random.default_rng(M + N + K)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    out = np.full((M, N), np.nan, np.float16)
    described_kernel[(2,)](a, b, out, M, N, K, 2, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, HALVES=halves, num_warps=8, num_stages=3)
    assert np.array_equal(out, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


@triton.jit
def gradients_kernel(q_ptr, k_ptr, out_ptr, sum_ptr, n, HEAD_DIM: tl.constexpr, OWN: tl.constexpr, STEP: tl.constexpr):
    """Like attention backward in one kernel: one sum stays in registers, and each iteration adds a tile to another sum in memory, which it
    never reads. Two consecutive loops add to the same memory."""
    keys, columns = tl.program_id(0) * OWN + tl.arange(0, OWN), tl.arange(0, HEAD_DIM)
    k = tl.load(k_ptr + keys[:, None] * HEAD_DIM + columns[None, :], mask=keys[:, None] < n, other=0.0)
    acc = tl.zeros((OWN, HEAD_DIM), dtype=tl.float32)
    half = n // (2 * STEP) * STEP
    for start in range(0, half, STEP):
        rows = start + tl.arange(0, STEP)
        q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + columns[None, :])
        scores = tl.dot(k, q.T)
        acc = tl.dot(scores.to(q.dtype), q, acc)
        weights = (scores * 0.5).to(q.dtype)
        tl.atomic_add(sum_ptr + rows[:, None] * HEAD_DIM + columns[None, :], tl.dot(weights.T, k), sem="relaxed")
        acc = tl.dot(weights, q, acc)
    for start in range(half, n, STEP):
        rows = start + tl.arange(0, STEP)
        q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + columns[None, :], mask=rows[:, None] < n, other=0.0)
        scores = tl.dot(k, q.T)
        weights = (scores * 2).to(q.dtype)
        sums = tl.dot(weights.T, k)
        acc = tl.dot(weights, q, acc)
        tl.atomic_add(sum_ptr + rows[:, None] * HEAD_DIM + columns[None, :], sums, mask=rows[:, None] < n, sem="relaxed")
    tl.store(out_ptr + keys[:, None] * HEAD_DIM + columns[None, :], acc, mask=keys[:, None] < n)


@pytest.mark.parametrize("n, warps", [(64, 8), (128, 8), (300, 8), (512, 8), (200, 4)])
def test_sums_in_memory(n, warps):
    rng = np.random.default_rng(n)
    q, k = (rng.integers(-1, 2, (n, 128)).astype(np.float16) for _ in range(2))
    out, sums = np.full((n, 128), np.nan, np.float32), np.ones((n, 128), np.float32)
    gradients_kernel[(triton.cdiv(n, 128),)](q, k, out, sums, n, HEAD_DIM=128, OWN=128, STEP=64, num_warps=warps, num_stages=2)
    half = n // 128 * 64
    factor = np.where(np.arange(n) < half, 0.5, 2.0)  # factor of a query's scores in the sum in memory
    own = np.where(np.arange(n) < half, 1.5, 2.0)
    wide, keys = q.astype(np.float64), k.astype(np.float64)
    scores = keys @ wide.T
    np.testing.assert_array_equal(out, (scores * own) @ wide)
    np.testing.assert_array_equal(sums, 1 + (scores * factor).T @ keys)


@triton.jit
def masked_kernel(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    columns = tl.cdiv(N, BLOCK_N)
    offs_m = (tl.program_id(0) // columns * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (tl.program_id(0) % columns * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in tl.range(0, K, BLOCK_K, warp_specialize=True):
        offs_k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=offs_k[None, :] < K, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=offs_k[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    offs_m = tl.program_id(0) // columns * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(0) % columns * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@pytest.mark.parametrize("block, warps", [(128, 4), (256, 8)])
@pytest.mark.parametrize("M, N, K", [(256, 128, 64), (200, 264, 200), (136, 136, 0), (72, 136, 520)])
def test_two_blocks_fill_their_slots_together(M, N, K, block, warps):
    rng = np.random.default_rng(M + N + K)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    out, walked = np.full((M, N), np.nan, np.float32), np.full((M, N), np.nan, np.float16)
    options = dict(BLOCK_M=block, BLOCK_N=128, BLOCK_K=64, num_warps=warps, num_stages=3, num_ctas=2)
    masked_kernel[(triton.cdiv(M, block) * triton.cdiv(N, 128),)](a, b, out, M, N, K, **options)
    described_kernel[(2,)](a, b, walked, M, N, K, 2, HALVES=False, **options)
    want = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(out, want) and np.array_equal(walked, want.astype(np.float16))


@triton.jit
def large_tiles_kernel(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """The result's buffer leaves shared memory for two stages only."""
    columns = tl.cdiv(N, BLOCK_N)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * columns, tl.num_programs(0)):
        offs_m = tile // columns * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = tile % columns * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in tl.range(0, K, BLOCK_K, warp_specialize=True):
            offs_k = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def test_peers_do_not_copy_over_a_result():
    M, N, K = 512, 520, 136
    rng = np.random.default_rng(M)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    out = np.full((M, N), np.nan, np.float32)
    large_tiles_kernel[(2,)](a, b, out, M, N, K, BLOCK_M=256, BLOCK_N=256, BLOCK_K=64, num_warps=8, num_stages=3, num_ctas=2)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def two_sizes_kernel(a_ptr, b_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """out = a @ b.T: if the last columns are few, another loop computes them with narrower tiles."""
    column = tl.program_id(1) * BLOCK_N
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if column + BLOCK_N <= N:
        offs_n = column + tl.arange(0, BLOCK_N)
        for start in tl.range(0, K, BLOCK_K, warp_specialize=True):
            offs_k = start + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + offs_n[None, :] * K + offs_k[:, None], mask=(offs_n[None, :] < N) & (offs_k[:, None] < K), other=0.0)
            acc = tl.dot(a, b, acc)
    else:
        offs_n = column + tl.arange(0, BLOCK_N)
        for start in tl.range(0, K, BLOCK_K // 2, warp_specialize=True):
            offs_k = start + tl.arange(0, BLOCK_K // 2)
            a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + offs_n[None, :] * K + offs_k[:, None], mask=(offs_n[None, :] < N) & (offs_k[:, None] < K), other=0.0)
            acc = tl.dot(a, b, acc)
    offs_n = column + tl.arange(0, BLOCK_N)
    tl.store(out_ptr + offs_m[:, None] * N + offs_n[None, :], acc, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize("M, N, K", [(128, 128, 64), (200, 264, 200), (72, 136, 520)])
def test_blocks_bring_rows_of_each_box_and_branch_alike(M, N, K, blocks):
    rng = np.random.default_rng(M + N + K)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (N, K)))
    out = np.full((M, N), np.nan, np.float32)
    grid = triton.cdiv(M, 64 * blocks), triton.cdiv(N, 128)
    two_sizes_kernel[grid](a, b, out, M, N, K, BLOCK_M=64 * blocks, BLOCK_N=128, BLOCK_K=64, num_warps=4, num_stages=3, num_ctas=blocks)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32).T)


@pytest.mark.parametrize("warps", [8, 16])
def test_sums_that_one_block_does_not_hold(warps):
    M, N, K = 264, 256, 136
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    out = np.full((M, N), np.nan, np.float16)
    masked_kernel[(2,)](a, b, out, M, N, K, BLOCK_M=256, BLOCK_N=256, BLOCK_K=64, num_warps=warps, num_stages=3)
    assert np.array_equal(out, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


@triton.jit
def halved(x):
    return x * 0.5


@triton.jit
def weighted_kernel(q_ptr, k_ptr, v_ptr, out_ptr, n, KIND: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr):
    """Operations between two products: a branch that masks, or an operation through which no operand's layout can be propagated."""
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, HEAD_DIM)
    q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + columns[None, :], mask=rows[:, None] < n, other=0.0)
    acc = tl.zeros((BLOCK, HEAD_DIM), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        keys = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + columns[:, None] + keys[None, :] * HEAD_DIM, mask=keys[None, :] < n, other=0.0)
        v = tl.load(v_ptr + keys[:, None] * HEAD_DIM + columns[None, :], mask=keys[:, None] < n, other=0.0)
        scores = tl.dot(q, k)
        if KIND == "branch":
            if start >= n // 2:
                scores = tl.where(keys[None, :] <= rows[:, None], scores, 0.0)
        else:
            scores = tl.map_elementwise(halved, scores)
        acc = tl.dot(scores.to(v.dtype), v, acc)
    tl.store(out_ptr + rows[:, None] * HEAD_DIM + columns[None, :], acc, mask=rows[:, None] < n)


@pytest.mark.parametrize("kind", ["branch", "map"])
@pytest.mark.parametrize("n, stages", [(128, 2), (300, 2), (640, 3)])
def test_between_matmuls(n, stages, kind):
    rng = np.random.default_rng(n)
    q, k, v = (rng.integers(-1, 2, (n, 128)).astype(np.float16) for _ in range(3))
    out = np.full((n, 128), np.nan, np.float32)
    weighted_kernel[(triton.cdiv(n, 128),)](q, k, v, out, n, kind, HEAD_DIM=128, BLOCK=128, num_warps=8, num_stages=stages)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    rows, keys = np.arange(n)[:, None], np.arange(n)[None, :]
    masked = (keys // 128 * 128 >= n // 2) & (keys > rows)
    np.testing.assert_array_equal(out, (np.where(masked, 0, scores) if kind == "branch" else scores * 0.5) @ v.astype(np.float64))


@triton.jit
def tile_values_kernel(q_ptr, k_ptr, v_ptr, out_ptr, rows, keys, programs):
    """The second dot, which runs an iteration late, reads a tile that the loop around it has copied ahead."""
    q_desc = tl.make_tensor_descriptor(q_ptr, [rows, 64], [64, 1], [128, 64])
    k_desc = tl.make_tensor_descriptor(k_ptr, [keys, 64], [64, 1], [128, 64])
    v_desc = tl.make_tensor_descriptor(v_ptr, [rows, 64], [64, 1], [128, 64])
    out_desc = tl.make_tensor_descriptor(out_ptr, [rows, 64], [64, 1], [128, 64])
    for tile in tl.range(tl.program_id(0), tl.cdiv(rows, 128), programs, num_stages=2, warp_specialize=True):
        q = q_desc.load([tile * 128, 0])
        v = v_desc.load([tile * 128, 0])
        acc = tl.zeros((128, 64), tl.float32)
        for start in range(0, keys, 128):
            weights = tl.maximum(tl.dot(q, k_desc.load([start, 0]).T), 0.0)
            acc = tl.dot(weights.to(tl.float16), v, acc)
        out_desc.store([tile * 128, 0], acc.to(tl.float16))


@pytest.mark.parametrize("keys", [128, 384])
def test_last_dot_reads_tile_of_outer_loop(keys):
    rng = np.random.default_rng(keys)
    q, v = (rng.integers(-1, 2, (640, 64)).astype(np.float16) for _ in range(2))
    k = (rng.integers(0, 16, (keys, 64)) == 0).astype(np.float16)
    out = np.full_like(q, np.nan)
    tile_values_kernel[(2,)](q, k, v, out, 640, keys, 2, num_warps=8, num_stages=2)
    wide = [each.astype(np.float64) for each in (q, k, v)]
    weights = np.maximum(wide[0] @ wide[1].T, 0).reshape(5, 128, keys // 128, 128).sum(2)
    np.testing.assert_array_equal(out, (weights @ wide[2].reshape(5, 128, 64)).reshape(640, 64).astype(np.float16))


@triton.jit
def rescaled_first_kernel(q_ptr, k_ptr, v_ptr, w_ptr, out_ptr, rows, keys):
    """The first dot depends on the sum, and so it belongs to the part that would run an iteration late."""
    q_desc = tl.make_tensor_descriptor(q_ptr, [rows, 64], [64, 1], [128, 64])
    k_desc = tl.make_tensor_descriptor(k_ptr, [keys, 64], [64, 1], [128, 64])
    v_desc = tl.make_tensor_descriptor(v_ptr, [keys, 64], [64, 1], [128, 64])
    w_desc = tl.make_tensor_descriptor(w_ptr, [64, 64], [64, 1], [64, 64])
    out_desc = tl.make_tensor_descriptor(out_ptr, [rows, 64], [64, 1], [128, 64])
    q, w = q_desc.load([tl.program_id(0) * 128, 0]), w_desc.load([0, 0])
    acc = tl.zeros((128, 64), tl.float32)
    for start in tl.range(0, keys, 128, num_stages=2, warp_specialize=True):
        rescaled = tl.dot(q, w, acc * 0.5)
        weights = tl.maximum(tl.dot(q, k_desc.load([start, 0]).T), 0.0)
        acc = tl.dot(weights.to(tl.float16), v_desc.load([start, 0]), rescaled)
    out_desc.store([tl.program_id(0) * 128, 0], acc.to(tl.float16))


def test_first_dot_depends_on_the_sum():
    rng = np.random.default_rng(5)
    q, w = (rng.integers(-1, 2, shape).astype(np.float16) for shape in ((256, 64), (64, 64)))
    k, v = ((rng.integers(0, 16, (384, 64)) == 0).astype(np.float16) for _ in range(2))
    out = np.full_like(q, np.nan)
    rescaled_first_kernel[(2,)](q, k, v, w, out, 256, 384, num_warps=8, num_stages=2)
    wide = [each.astype(np.float64) for each in (q, k, v, w)]
    want = np.zeros((256, 64))
    for i in range(0, 384, 128):
        want = want * 0.5 + wide[0] @ wide[3] + np.maximum(wide[0] @ wide[1][i : i + 128].T, 0) @ wide[2][i : i + 128]
    np.testing.assert_array_equal(out, want.astype(np.float16))
