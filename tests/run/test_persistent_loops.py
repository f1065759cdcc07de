"""Programs that compute several tiles of a product in a loop: a tile's first operands are loaded while the previous tile is stored."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, out_ptr, M, N, K, programs, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    out_desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    tiles_m = tl.cdiv(M, BLOCK_M)
    in_group = 2 * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tl.cdiv(N, BLOCK_N), programs):
        first_m = tile // in_group * 2
        group_m = min(tiles_m - first_m, 2)  # after the last tile it may be 0, by which nothing must be divided
        row = (first_m + tile % in_group % group_m) * BLOCK_M
        column = tile % in_group // group_m * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]), acc)
        out_desc.store([row, column], acc)


@pytest.mark.parametrize("programs", [1, 2, 7])
@pytest.mark.parametrize("M, N, K", [(64, 64, 16), (128, 192, 32), (192, 160, 80), (100, 72, 208), (256, 64, 0)])
def test_matmul(M, N, K, programs):
    rng = np.random.default_rng(M + N + K)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (K, N)))
    out = np.full((M, N), np.nan, np.float32)
    matmul_kernel[(programs,)](a, b, out, M, N, K, programs, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=4)
    assert np.array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def while_kernel(a_ptr, b_ptr, out_ptr, tiles, K, programs, TRANSPOSED: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    """One operand is copied by TMA, the other by threads, in a `while` loop over tiles."""
    tile = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    while tile < tiles:
        rows = tile * BLOCK + tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK, BLOCK), tl.float32)
        for start in tl.range(0, K, STEP):
            k = start + tl.arange(0, STEP)
            b_at = columns[None, :] * K + k[:, None] if TRANSPOSED else k[:, None] * BLOCK + columns[None, :]
            acc = tl.dot(tl.load(a_ptr + rows[:, None] * K + k[None, :]), tl.load(b_ptr + b_at), acc)
        tl.store(out_ptr + rows[:, None] * BLOCK + columns[None, :], acc)
        tile += programs


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("tiles, K, programs", [(1, 64, 1), (5, 64, 2), (3, 192, 1), (4, 0, 2)])
def test_while(tiles, K, programs, transposed, stages):
    rng = np.random.default_rng(tiles + K)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((tiles * 64, K), (K, 64)))
    out = np.full((tiles * 64, 64), np.nan, np.float32)
    in_memory = np.ascontiguousarray(b.T) if transposed else b
    while_kernel[(programs,)](a, in_memory, out, tiles, K, programs, transposed, BLOCK=64, STEP=32, num_warps=4, num_stages=stages)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def triangle_kernel(a_ptr, out_ptr, n, programs, BLOCK: tl.constexpr):
    """out[i] = the sum over j <= i of a[i, j] @ a[i, j]: the number of steps depends on the tile's number."""
    offs = tl.arange(0, BLOCK)
    inside = offs[:, None] * BLOCK + offs[None, :]
    for i in tl.range(tl.program_id(0), n, programs):
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for j in range(0, i + 1):
            a = tl.load(a_ptr + (i * n + j) * BLOCK * BLOCK + inside)
            acc = tl.dot(a, a, acc)
        tl.store(out_ptr + i * BLOCK * BLOCK + inside, acc)


@pytest.mark.parametrize("n, programs", [(1, 1), (5, 1), (6, 2)])
def test_tiles_of_different_lengths(n, programs):
    a = np.random.default_rng(n).integers(-3, 4, (n, n, 64, 64)).astype(np.float16)
    out = np.full((n, 64, 64), np.nan, np.float32)
    triangle_kernel[(programs,)](a, out, n, programs, BLOCK=64, num_warps=4, num_stages=3)
    wide = a.astype(np.float32)
    np.testing.assert_array_equal(out, np.stack([(wide[i, : i + 1] @ wide[i, : i + 1]).sum(0) for i in range(n)]))


@triton.jit
def halves_kernel(a_ptr, b_ptr, out_ptr, N, stride, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    inside = offs[:, None] * BLOCK + offs[None, :]
    product = tl.dot(tl.load(a_ptr + inside), tl.load(b_ptr + inside))
    left, right = product.reshape(BLOCK, 2, BLOCK // 2).permute(0, 2, 1).split()
    columns = tl.arange(0, BLOCK // 2)
    rows = out_ptr + offs[:, None] * stride
    tl.store(rows + columns[None, :], left, mask=(columns < N)[None, :])
    tl.store(rows + (BLOCK // 2 + columns)[None, :], right, mask=(BLOCK // 2 + columns < N)[None, :])


@pytest.mark.parametrize("N, stride", [(64, 64), (64, 96), (48, 64), (64, 32)])
def test_two_halves_in_order(N, stride):
    """With a stride of 32 columns, the second store overwrites rows of the first one."""
    rng = np.random.default_rng(stride)
    a, b = (rng.integers(-3, 4, (64, 64)).astype(np.float16) for _ in range(2))
    out, want = (np.full(64 * stride + 64, -1, np.float32) for _ in range(2))
    halves_kernel[(1,)](a, b, out, N, stride, BLOCK=64, num_warps=4)
    product = a.astype(np.float32) @ b.astype(np.float32)
    for columns in (range(0, 32), range(32, N)):
        for row in range(64):
            want[row * stride + columns[0] : row * stride + columns[-1] + 1] = product[row, columns[0] : columns[-1] + 1]
    assert np.array_equal(out, want)


@triton.jit
def strided_kernel(a_ptr, b_ptr, out_ptr, steps_ptr, n, depth, step, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Each tile has a step of its own, which the loop over tiles carries or loads: it must be known before the tile's first copies."""
    offs = tl.arange(0, BLOCK)
    for i in tl.range(tl.program_id(0), n, tl.num_programs(0)):
        if HOW == "loaded":
            step = tl.load(steps_ptr)
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        a_ptrs = a_ptr + i * BLOCK * depth + offs[:, None] * depth + offs[None, :]
        b_ptrs = b_ptr + offs[:, None] * BLOCK + offs[None, :]
        if HOW == "increment":
            for _ in range(0, 3):
                acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
                a_ptrs += step
                b_ptrs += step * BLOCK
        else:
            for at in range(0, depth, step):
                acc = tl.dot(tl.load(a_ptrs + at), tl.load(b_ptrs + at * BLOCK), acc)
        tl.store(out_ptr + i * BLOCK * BLOCK + offs[:, None] * BLOCK + offs[None, :], acc)
        if HOW == "added":
            step += BLOCK
        elif HOW == "loaded":
            tl.store(steps_ptr, step * 2)
        else:
            step = step * 2


@pytest.mark.parametrize("how", ["added", "doubled", "increment", "loaded"])
def test_steps_of_tiles(how):
    n, depth = 3, 512
    rng = np.random.default_rng(1)
    a, b = rng.integers(-3, 4, (n, 64, depth)).astype(np.float16), rng.integers(-3, 4, (depth, 64)).astype(np.float16)
    out, steps = np.full((n, 64, 64), np.nan, np.float32), np.array([64], np.int32)
    strided_kernel[(1,)](a, b, out, steps, n, depth, 64 if how != "increment" else 32, HOW=how, BLOCK=64, num_warps=4, num_stages=3)
    for i in range(n):
        step = {"added": 64 * (i + 1), "increment": 32 << i}.get(how, 64 << i)
        starts = [step * j for j in range(3)] if how == "increment" else range(0, depth, step)
        want = sum(a[i, :, at : at + 64].astype(np.float32) @ b[at : at + 64].astype(np.float32) for at in starts)
        np.testing.assert_array_equal(out[i], want)
