"""Products whose operands threads compute: threads fill one buffer while tensor cores read the other, and load inputs an iteration early."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def widened_kernel(
    a_ptr, b_ptr, scale_ptr, out_ptr, M, N, K, programs, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr, BOTH: tl.constexpr,
    ROLES: tl.constexpr,
):
    """out = a @ (b * scale), with b in int8 and an element of the scale for each row of b; with BOTH, a is computed, too."""
    offs = tl.arange(0, BLOCK)
    offs_k = tl.arange(0, BLOCK_K)
    tiles_n = tl.cdiv(N, BLOCK)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BLOCK) * tiles_n, programs, warp_specialize=ROLES):
        rows = tile // tiles_n * BLOCK + offs
        columns = tile % tiles_n * BLOCK + offs
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            k = start + offs_k
            a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=(rows < M)[:, None] & (k < K)[None, :], other=0)
            b = tl.load(b_ptr + k[:, None] * N + columns[None, :], mask=(k < K)[:, None] & (columns < N)[None, :], other=0)
            scale = tl.load(scale_ptr + k, mask=k < K, other=0)
            if BOTH:
                a = -a
            acc = tl.dot(a, b.to(tl.float16) * scale[:, None], acc)
        tl.store(out_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])


@pytest.mark.parametrize("both, roles", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("M, N, K, programs, warps, stages", [
    (64, 64, 32, 1, 4, 3), (64, 64, 160, 1, 4, 3), (64, 64, 160, 1, 4, 2), (64, 64, 96, 1, 4, 1), (128, 128, 96, 1, 4, 3),
    (128, 128, 128, 2, 8, 3), (100, 72, 80, 1, 4, 3), (64, 64, 0, 1, 4, 3), (64, 64, 70, 1, 4, 3), (70, 65, 71, 1, 4, 3)])
def test_widened(M, N, K, programs, warps, stages, both, roles):
    rng = np.random.default_rng(K)
    a = rng.integers(-3, 4, (M, K)).astype(np.float16)
    b, scale = rng.integers(-4, 5, (K, N), np.int8), rng.choice([0.5, 1, 2], K).astype(np.float16)
    out = np.full((M, N), np.nan, np.float32)
    widened_kernel[(programs,)](a, b, scale, out, M, N, K, programs, BLOCK=64, BLOCK_K=32, BOTH=both, ROLES=roles, num_warps=warps,
                                num_stages=stages)
    assert np.array_equal(out, (-a if both else a).astype(np.float32) @ (b * scale[:, None].astype(np.float32)))


@triton.jit
def large_kernel(a_ptr, b_ptr, out_ptr, K, BLOCK: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    offs, offs_n, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + offs[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * BLOCK_N + offs_n[None, :])
        acc = tl.dot(a, b.to(tl.float16), acc)
    tl.store(out_ptr + offs[:, None] * BLOCK_N + offs_n[None, :], acc)


def test_two_buffers_do_not_fit():
    """One buffer of 256 x 256 fp16 numbers is half of shared memory, so there is only one, and the MMA waits."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-3, 4, (64, 512)).astype(np.float16), rng.integers(-3, 4, (512, 256), np.int8)
    out = np.full((64, 256), np.nan, np.float32)
    large_kernel[(1,)](a, b, out, 512, BLOCK=64, BLOCK_N=256, BLOCK_K=256, num_warps=4, num_stages=2)
    assert np.array_equal(out, a.astype(np.float32) @ b)


@triton.jit
def grouped_kernel(a_ptr, b_ptr, scale_ptr, out_ptr, N, K, stride, first, M: tl.constexpr, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    """out = a @ (b * scale), with b in int8 and an element of the scale for BLOCK_K elements of each column of b, from group `first` on."""
    rows, columns, offs_k = tl.arange(0, M), tl.arange(0, BLOCK), tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + offs_k
        scale = tl.load(scale_ptr + columns * stride + (first + start // BLOCK_K), mask=columns < N, other=2)
        b = tl.load(b_ptr + k[:, None] + columns[None, :] * K).to(tl.float16) * scale.to(tl.float16)[None, :]
        acc = tl.dot(tl.load(a_ptr + rows[:, None] * K + k[None, :]), b, acc)
    tl.store(out_ptr + rows[:, None] * BLOCK + columns[None, :], acc)


@pytest.mark.parametrize("M", [16, 64])
@pytest.mark.parametrize("type", [np.uint8, np.float16, np.float32])
@pytest.mark.parametrize("groups, stride, first", [(1, 16, 0), (9, 16, 0), (9, 11, 2), (16, 17, 1)])
def test_words_of_scales(groups, stride, first, type, M):
    """A thread loads words that hold the scales of several iterations, from rows that begin anywhere."""
    rng = np.random.default_rng(groups)
    K, N = 32 * groups, 50
    a, b = rng.integers(-3, 4, (M, K)).astype(np.float16), rng.integers(-4, 5, (64, K), np.int8)
    scales = rng.integers(1, 5, (64, stride)).astype(type)
    out = np.full((M, 64), np.nan, np.float32)
    grouped_kernel[(1,)](a, b, scales, out, N, K, stride, first, M=M, BLOCK=64, BLOCK_K=32, num_warps=4, num_stages=3)
    valid = np.where(np.arange(64)[:, None] < N, scales[:, first:first + groups].astype(np.float32), 2)
    assert np.array_equal(out, a.astype(np.float32) @ (b * np.repeat(valid, 32, axis=1)).T)
