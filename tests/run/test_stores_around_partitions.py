"""Stores before, in and after the loop of a dot whose second operand another partition may dequantize, ahead of the stores: to memory of their
own, and to the scales that it loads."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def matmul_tile(a, b, s, out, tile, K):
    i, j, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    columns = tile * 128 + j
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :]).to(tl.float16)
        y = tl.load(b + columns[None, :] * K + (start + k)[:, None]).to(tl.float16)
        scale = tl.load(s + columns * (K // 64) + start // 64)
        total = tl.dot(x, y * scale[None, :], total)
    tl.store(out + i[:, None] * 256 + columns[None, :], total)


@triton.jit
def single_kernel(a, b, s, out, written, K, BEFORE: tl.constexpr, AFTER: tl.constexpr):
    every = tl.arange(0, 512)
    if BEFORE:
        tl.store(written + every, tl.full((512,), 2, tl.float16))
    matmul_tile(a, b, s, out, tl.program_id(0), K)
    if AFTER:
        tl.store(written + every, tl.full((512,), 4, tl.float16))


@triton.jit
def tiles_kernel(a, b, s, out, written, K):
    every = tl.arange(0, 512)
    for tile in range(tl.program_id(0), 2, tl.num_programs(0)):
        matmul_tile(a, b, s, out, tile, K)
        tl.store(written + every, tl.full((512,), 8, tl.float16))


def inputs(k):
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-4, 4, (256, k)).astype(np.int8) for _ in range(2))
    s = rng.integers(1, 4, (256, k // 64)).astype(np.float16)
    return a, b, s, np.zeros((256, 256), np.float32)


def matmul(a, b, scales):
    return a.astype(np.float32) @ (b * np.repeat(scales.astype(np.float32), 64, axis=1)).T


@pytest.mark.parametrize("aliases", [False, True])
@pytest.mark.parametrize("before, after", [(True, False), (False, True), (True, True)])
def test_store_before_and_after(engine, before, after, aliases):
    a, b, s, out = inputs(128)
    first = matmul(a, b, np.full_like(s, 2) if before and aliases else s)
    written = s if aliases else np.zeros_like(s)
    single_kernel[(1,)](a, b, s, out, written, 128, before, after, num_warps=8, num_stages=4)
    assert np.array_equal(out[:, :128], first[:, :128])
    assert (written == (4 if after else 2)).all()


@pytest.mark.parametrize("aliases", [False, True])
def test_store_in_the_loop_over_tiles(engine, aliases):
    a, b, s, out = inputs(128)
    first = matmul(a, b, s)
    written = s if aliases else np.zeros_like(s)
    second = matmul(a, b, np.full_like(s, 8)) if aliases else first
    tiles_kernel[(1,)](a, b, s, out, written, 128, num_warps=8, num_stages=4)
    assert np.array_equal(out[:, :128], first[:, :128])
    assert np.array_equal(out[:, 128:], second[:, 128:])
    assert (written == 8).all()
