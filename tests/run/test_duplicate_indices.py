"""Elements of one tile at one address: all of a tile is loaded before later stores, and later loads see one of the stored values."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl

N = 256
pytestmark = pytest.mark.unchecked
KINDS = ["halves", "remainders", "loaded", "stride", "broadcast"]


@triton.jit
def indices(index_ptr, stride, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if KIND == "halves":
        at = i // 2
    elif KIND == "remainders":
        at = i % 4
    elif KIND == "loaded":
        at = tl.load(index_ptr + i)
    elif KIND == "stride":
        at = tl.ravel(tl.arange(0, 16)[:, None] * stride + tl.arange(0, N // 16)[None, :])
    else:
        at = tl.ravel(tl.broadcast_to(tl.arange(0, 16)[:, None], (16, N // 16)))
    return at


def indices_of(kind, index):
    i = np.arange(N)
    rows, columns = i // (N // 16), i % (N // 16)
    return {"halves": i // 2, "remainders": i % 4, "loaded": index, "stride": rows * 3 + columns, "broadcast": rows}[kind]


def inputs(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    index = rng.integers(0, N, N).astype(np.int32)
    return rng.integers(-100, 100, N).astype(np.int32), index, indices_of(kind, index)


@triton.jit
def straight_kernel(memory_ptr, index_ptr, out_ptr, stride, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    p = memory_ptr + indices(index_ptr, stride, KIND, N)
    tl.store(p, tl.load(p) + 1)
    tl.store(out_ptr + i, tl.load(p))
    tl.store(p, 1000 + i)
    tl.store(out_ptr + N + i, tl.load(p))


@pytest.mark.parametrize("kind", KINDS)
def test_one_after_another(kind):
    memory, index, at = inputs(kind)
    before, out = memory.copy(), np.zeros((2, N), np.int32)
    straight_kernel[(1, )](memory, index, out, 3, kind, N)
    np.testing.assert_array_equal(out[0], before[at] + 1)
    np.testing.assert_array_equal(out[1], memory[at])
    np.testing.assert_array_equal(at[memory[at] - 1000], at)  # each stored by an element of that address
    others = np.setdiff1d(np.arange(N), at)
    np.testing.assert_array_equal(memory[others], before[others])


@triton.jit
def counted_kernel(memory_ptr, index_ptr, out_ptr, stride, KIND: tl.constexpr, N: tl.constexpr):
    p = memory_ptr + indices(index_ptr, stride, KIND, N)
    tl.atomic_add(p, 1, sem="relaxed")
    tl.store(out_ptr + tl.arange(0, N), tl.load(p))


@pytest.mark.parametrize("kind", KINDS)
def test_loads_after_atomics(kind):
    memory, index, at = inputs(kind)
    want, out = memory + np.bincount(at, minlength=N).astype(np.int32), np.zeros(N, np.int32)
    counted_kernel[(1, )](memory, index, out, 3, kind, N)
    np.testing.assert_array_equal(memory, want)
    np.testing.assert_array_equal(out, want[at])


@triton.jit
def hoisted_kernel(memory_ptr, index_ptr, stride, iterations, KIND: tl.constexpr, N: tl.constexpr):
    p = memory_ptr + indices(index_ptr, stride, KIND, N)
    for _ in range(iterations):
        tl.store(p, tl.load(p) * 3 + 1)


@triton.jit
def moving_kernel(memory_ptr, index_ptr, stride, iterations, KIND: tl.constexpr, N: tl.constexpr):
    at = indices(index_ptr, stride, KIND, N)
    for j in range(iterations):
        p = memory_ptr + (at + 7 * j) % N
        tl.store(p, tl.load(p) * 3 + 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel, distance", [(hoisted_kernel, 0), (moving_kernel, 7)])
def test_in_loops(kernel, distance, kind):
    memory, index, at = inputs(kind)
    want = memory.copy()
    for j in range(3):
        now = np.unique((at + distance * j) % N)
        want[now] = want[now] * 3 + 1
    kernel[(1, )](memory, index, 3, 3, kind, N)
    np.testing.assert_array_equal(memory, want)


@triton.jit
def rows_kernel(x_ptr, stride, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    p = x_ptr + tl.arange(0, ROWS)[:, None] * stride + tl.arange(0, COLUMNS)[None, :]
    for _ in range(3):
        tl.store(p, tl.load(p) * 3 + 1)


@pytest.mark.parametrize("stride", [16, 20, 5, 1, 0, -16, -3])
def test_rows_that_may_overlap(stride):
    memory = np.arange(1000, dtype=np.int32)
    want = memory.copy()
    at = np.unique(500 + np.arange(16)[:, None] * stride + np.arange(16)[None, :])
    for _ in range(3):
        want[at] = want[at] * 3 + 1
    rows_kernel[(1, )](memory[500:], stride, 16, 16)
    np.testing.assert_array_equal(memory, want)
