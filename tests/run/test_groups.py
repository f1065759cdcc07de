"""Products with one matrix of several, whose number is loaded from memory."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def grouped_kernel(
    x_ptr, w_ptr, out_ptr, group_ptr, row_ptr, tiles, N, K, stride_g, stride_k, GATHERED: tl.constexpr, BLOCK: tl.constexpr,
):
    """A negative number means that there is no group. GATHERED: rows of x are at indices from memory, so threads copy them."""
    i = tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + i
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        group = tl.load(group_ptr + tile)
        rows = tl.load(row_ptr + i) if GATHERED else i
        w = w_ptr + group.to(tl.int64) * stride_g
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for start in range(0, K, BLOCK):
            k = start + i
            here = ((k < K) & (group >= 0))[:, None] & (columns < N)[None, :]
            x = tl.load(x_ptr + rows[:, None] * K + k[None, :], mask=(k < K)[None, :], other=0)
            acc = tl.dot(x, tl.load(w + k[:, None] * stride_k + columns[None, :], mask=here, other=0), acc)
        out = out_ptr + (tile * BLOCK + i)[:, None] * N + columns[None, :]
        tl.store(out, acc, mask=(columns < N)[None, :])


@pytest.mark.parametrize("N, K", [(64, 64), (128, 192), (72, 40), (80, 112)])
@pytest.mark.parametrize("lies, programs, gathered, stages", [
    ("consecutive", 5, False, 3), ("consecutive", 2, False, 3), ("consecutive", 5, True, 2),
    ("consecutive", 2, True, 4), ("adjacent columns", 5, False, 3), ("overlapping", 2, True, 3)])
def test_groups(lies, programs, gathered, stages, N, K):
    """Groups may overlap: the index of a group has no bounds."""
    rng = np.random.default_rng(N)
    groups = np.array([2, 0, -1, 1, 2], np.int32)
    x = rng.integers(-3, 4, (64, K)).astype(np.float16)
    memory = rng.integers(-3, 4, 3 * K * N).astype(np.float16)
    stride_g, stride_k = {"consecutive": (K * N, N), "adjacent columns": (N, 3 * N), "overlapping": (16, N)}[lies]
    out = np.full((len(groups) * 64, N), np.nan, np.float32)
    order = rng.permutation(64).astype(np.int32)
    grouped_kernel[(programs, triton.cdiv(N, 64))](x, memory, out, groups, order, len(groups), N, K, stride_g, stride_k, GATHERED=gathered,
                                                   BLOCK=64, num_stages=stages)
    x = x[order] if gathered else x
    place = np.arange(K)[:, None] * stride_k + np.arange(N)
    want = [x.astype(np.float32) @ memory[group * stride_g + place] if group >= 0 else np.zeros((64, N)) for group in groups]
    np.testing.assert_array_equal(out, np.concatenate(want))


@triton.jit
def tiles_kernel(x_ptr, w_ptr, out_ptr, group_ptr, first_ptr, tiles, rows, n, groups, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """The coordinates of the tiles are loaded, where a warp that only copies has to load them, too."""
    x = tl.make_tensor_descriptor(x_ptr, [rows, k], [k, 1], [M, K])
    w = tl.make_tensor_descriptor(w_ptr, [groups * n, k], [k, 1], [N, K])
    column = tl.program_id(1) * N
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        group, first = tl.load(group_ptr + tile), tl.load(first_ptr + tile)
        acc = tl.zeros((M, N), dtype=tl.float32)
        for start in range(0, k, K):
            acc = tl.dot(x.load([first, start]), w.load([group * n + column, start]).T, acc)
        tl.store(out_ptr + (tile * M + tl.arange(0, M))[:, None] * n + column + tl.arange(0, N)[None, :], acc)


@pytest.mark.parametrize("programs", [1, 2, 5])
def test_loaded_coordinates(programs):
    rng = np.random.default_rng(programs)
    groups, first, n, k = np.array([2, 0, 1, 2, 1], np.int32), np.array([0, 128, 64, 16, 200], np.int32), 128, 192
    x, w = rng.integers(-3, 4, (256, k)).astype(np.float16), rng.integers(-3, 4, (3, n, k)).astype(np.float16)
    out = np.full((len(groups) * 128, n), np.nan, np.float32)
    tiles_kernel[(programs, n // 64)](x, w, out, groups, first, len(groups), 256, n, 3, k, M=128, N=64, K=64, num_warps=4, num_stages=3)
    padded = np.vstack([x, np.zeros((128, k), np.float16)]).astype(np.float32)
    want = [padded[row : row + 128] @ w[group].T.astype(np.float32) for group, row in zip(groups, first)]
    np.testing.assert_array_equal(out, np.concatenate(want))
