"""Loops whose loads run ahead, although their addresses change by what the loop loads: lists of blocks, tables of pages."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def blocks_kernel(a_ptr, b_ptr, list_ptr, out_ptr, count, blocks, BLOCK: tl.constexpr):
    """The sum over the listed blocks: the distance to the next block is added to what the loop carries."""
    offs = tl.arange(0, BLOCK)
    inside = offs[:, None] * BLOCK + offs[None, :]
    start, acc = tl.load(list_ptr) * BLOCK * BLOCK, tl.zeros((BLOCK, BLOCK), tl.float32)
    for i in range(0, count):
        acc = tl.dot(tl.load(a_ptr + start + inside), tl.load(b_ptr + start + inside), acc)
        after = tl.load(list_ptr + i + 1, mask=i + 1 < count, other=0)
        start += (after - tl.load(list_ptr + i)) * BLOCK * BLOCK
    tl.store(out_ptr + inside, acc)


@triton.jit
def pages_kernel(a_ptr, b_ptr, list_ptr, out_ptr, count, blocks, BLOCK: tl.constexpr):
    """The same, with the number of each block from the list, and descriptors."""
    a = tl.make_tensor_descriptor(a_ptr, [blocks * BLOCK, BLOCK], [BLOCK, 1], [BLOCK, BLOCK])
    b = tl.make_tensor_descriptor(b_ptr, [blocks * BLOCK, BLOCK], [BLOCK, 1], [BLOCK, BLOCK])
    offs, acc = tl.arange(0, BLOCK), tl.zeros((BLOCK, BLOCK), tl.float32)
    for i in range(0, count):
        row = tl.load(list_ptr + i) * BLOCK
        acc = tl.dot(a.load([row, 0]), b.load([row, 0]), acc)
    tl.store(out_ptr + offs[:, None] * BLOCK + offs[None, :], acc)


@triton.jit
def linked_kernel(a_ptr, b_ptr, list_ptr, out_ptr, count, blocks, BLOCK: tl.constexpr):
    """The same for a linked list: each number is loaded from where the one before it points."""
    offs = tl.arange(0, BLOCK)
    inside = offs[:, None] * BLOCK + offs[None, :]
    block, acc = tl.load(list_ptr), tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, count):
        place = block.to(tl.int64) * BLOCK * BLOCK + inside
        acc = tl.dot(tl.load(a_ptr + place), tl.load(b_ptr + place), acc)
        block = tl.load(list_ptr + block)
    tl.store(out_ptr + offs[:, None] * BLOCK + offs[None, :], acc)


@triton.jit
def written_kernel(a_ptr, b_ptr, list_ptr, out_ptr, count, blocks, BLOCK: tl.constexpr):
    """Each iteration writes the number of the next block: no load may run ahead of that."""
    offs = tl.arange(0, BLOCK)
    inside = offs[:, None] * BLOCK + offs[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for i in range(0, count):
        place = tl.load(list_ptr + i) * BLOCK * BLOCK + inside
        acc = tl.dot(tl.load(a_ptr + place), tl.load(b_ptr + place), acc)
        tl.debug_barrier()
        tl.store(list_ptr + i + 1, (tl.load(list_ptr + i) + 3) % blocks, mask=i + 1 < count)
        tl.debug_barrier()
    tl.store(out_ptr + inside, acc)


def following(kernel, order, blocks):
    """The numbers of the blocks as the kernel sees them."""
    if kernel is linked_kernel:
        visited = [order[0]]
        for _ in order[1:]:
            visited.append(order[visited[-1]])
        return visited
    return [(order[0] + 3 * i) % blocks for i in range(len(order))] if kernel is written_kernel else list(order)


@pytest.mark.parametrize("num_warps, num_stages", [(4, 2), (4, 3), (8, 4)])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("kernel", [blocks_kernel, pages_kernel, linked_kernel, written_kernel], ids=lambda k: k.__name__)
def test_sum_of_blocks(kernel, count, num_warps, num_stages):
    blocks, size = 7, 64
    rng = np.random.default_rng(count)
    a, b = (rng.integers(-3, 4, (blocks, size, size)).astype(np.float16) for _ in range(2))
    order = rng.permutation(blocks).astype(np.int32)
    numbers = following(kernel, list(order), blocks)[:count]
    out = np.full((size, size), np.nan, np.float32)
    kernel[(1,)](a, b, order, out, count, blocks, BLOCK=size, num_warps=num_warps, num_stages=num_stages)
    expected = sum((a[n].astype(np.float32) @ b[n].astype(np.float32) for n in numbers), np.zeros((size, size), np.float32))
    np.testing.assert_array_equal(out, expected)
