"""Loops whose counter comes near the largest number of its type, and steps of all kinds."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

LARGE = 2**31 - 10


@triton.jit
def count_kernel(out_ptr, start, end, STEP: tl.constexpr):
    count = 0
    last = tl.to_tensor(start).to(out_ptr.dtype.element_ty)
    for i in range(start, end, STEP):
        count += 1
        last = i.to(out_ptr.dtype.element_ty)
    tl.store(out_ptr, count)
    tl.store(out_ptr + 1, last)


@triton.jit
def hints_kernel(out_ptr, start, end, STEP: tl.constexpr, STAGES: tl.constexpr, FACTOR: tl.constexpr):
    count = 0
    last = tl.to_tensor(start).to(out_ptr.dtype.element_ty)
    for i in tl.range(start, end, STEP, num_stages=STAGES, loop_unroll_factor=FACTOR):
        count += 1
        last = i.to(out_ptr.dtype.element_ty)
    tl.store(out_ptr, count)
    tl.store(out_ptr + 1, last)


@triton.jit
def loaded_kernel(out_ptr, bounds_ptr, STEP: tl.constexpr):
    count = 0
    last = tl.load(bounds_ptr).to(out_ptr.dtype.element_ty)
    for i in range(tl.load(bounds_ptr), tl.load(bounds_ptr + 1), STEP):
        count += 1
        last = i.to(out_ptr.dtype.element_ty)
    tl.store(out_ptr, count)
    tl.store(out_ptr + 1, last)


def check(kernel, start, end, step, dtype=np.int32, **options):
    out = np.zeros(2, dtype)
    kernel[(1,)](out, start, end, STEP=step, **options)
    numbers = range(start, end, step)
    assert out.tolist() == [len(numbers), numbers[-1] if len(numbers) else start]


BOUNDS = [
    (0, LARGE, 2**28), (0, 2**31 - 1, 2**30), (0, 2**31 - 1, 2**31 - 1), (-(2**31), 2**31 - 1, 2**30), (-(2**31), -(2**31) + 5, 2**20), (5, -7, 2**30),
    (LARGE, 2**31 - 1, 7), (LARGE, 2**31 - 1, 1), (2**31 - 1, -(2**31), 2**29), (2**31 - 1, -(2**31), -(2**29)), (LARGE, 0, -(2**28)), (-(2**31) + 3, -(2**31), -2),
    (7, 7, 3), (0, 10, -3),
]


@pytest.mark.parametrize("start, end, step", BOUNDS)
def test_int32(start, end, step):
    check(count_kernel, start, end, step)


@pytest.mark.parametrize("start, end, step", [(0, 2**32 - 3, 2**29), (2**31 + 5, 2**32 - 1, 2**30), (2**32 - 20, 2**32 - 1, 7), (5, 3, 7),
                                              (5, 2**32 - 1, 2**31), (2**31, 2**31 + 9, 3 * 10**9), (7, 7, 2**32 - 1)])
def test_uint32(start, end, step):
    out = np.zeros(2, np.uint32)
    loaded_kernel[(1,)](out, np.array([start, end], np.uint32), STEP=step)
    numbers = range(start, end, step)
    assert out.tolist() == [len(numbers), numbers[-1] if len(numbers) else start]


@pytest.mark.parametrize("start, end, step", [(0, 2**63 - 10, 2**60), (2**63 - 20, 2**63 - 1, 7), (2**63 - 1, -(2**63), -(2**61)), (3, -(2**63), 2**62), (2**40, 2**40 + 9, 4)])
def test_int64(start, end, step):
    check(count_kernel, start, end, step, np.int64)


@pytest.mark.parametrize("stages, factor", [(1, 1), (3, 1), (1, 2), (1, 4), (2, 3)])
@pytest.mark.parametrize("start, end, step", [(0, LARGE, 2**28), (LARGE, 2**31 - 1, 2), (-(2**31), 2**31 - 1, 2**29), (2**31 - 1, -5, -(2**28)), (0, 0, 4)])
def test_hints(start, end, step, stages, factor):
    check(hints_kernel, start, end, step, STAGES=stages, FACTOR=factor)


@triton.jit
def known_kernel(out_ptr):
    count = 0
    for _ in range(0, 2147483638, 268435456):
        count += 1
    for _ in tl.static_range(0, 2147483638, 268435456):
        count += 1
    for _ in tl.range(0, 2147483638, 268435456, early_exit=True):
        count += 1
        if count > 1000:
            break
    tl.store(out_ptr, count)


def test_bounds_that_are_constants():
    out = np.zeros(1, np.int32)
    known_kernel[(1,)](out)
    assert out[0] == 24


@triton.jit
def sums_kernel(x_ptr, out_ptr, n, STEP: tl.constexpr):
    """Vectors, and a tile that the loop carries."""
    total = tl.zeros((16,), tl.float32)
    for i in range(0, n, STEP):
        total += tl.load(x_ptr + i // 268435456 * 16 + tl.arange(0, 16))
    tl.store(out_ptr + tl.arange(0, 16), total)


def test_a_loop_that_carries_a_tile():
    x = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
    out = np.zeros(16, np.float32)
    sums_kernel[(1,)](x, out, LARGE, STEP=2**28)
    np.testing.assert_array_equal(out, x.sum(0))


@triton.jit
def given_kernel(out_ptr, start, end, step):
    count = 0
    for _ in range(start, end, step):
        count += 1
    tl.store(out_ptr, count)


@pytest.mark.parametrize("start, end, step", [(0, 10, 3), (0, LARGE, 2**28), (7, 3, 1), (-(2**31), 2**31 - 1, 2**31 - 1)])
def test_steps_at_run_time(start, end, step):
    out = np.zeros(1, np.int32)
    given_kernel[(1,)](out, start, end, step)
    assert out[0] == len(range(start, end, step))


@pytest.mark.parametrize("start, end, step", [(0, 10, -1), (10, 0, -1), (0, 10, 0), (10, 0, -3)])
def test_a_step_at_run_time_is_positive(engine, start, end, step):
    if engine == "cuda":
        pytest.skip("a failed assertion ends the GPU's context")
    with pytest.raises((RuntimeError, triton.InterpreterError), match="the step of a loop must be positive"):
        given_kernel[(1,)](np.zeros(1, np.int32), start, end, step)


@triton.jit
def matmuls_kernel(a_ptr, b_ptr, out_ptr, start, end, step, STAGES: tl.constexpr, SIZE: tl.constexpr):
    """Tiles that are fetched ahead; the threads of a block act together."""
    rows, columns = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    b = tl.load(b_ptr + rows * SIZE + columns)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for i in tl.range(start, end, step, num_stages=STAGES):
        iteration = (i.to(tl.int64) - start) // step
        a = tl.load(a_ptr + iteration * SIZE * SIZE + rows * SIZE + columns)
        total = tl.dot(a, b, total)
    tl.store(out_ptr + rows * SIZE + columns, total)


@triton.jit
def largest_kernel(x_ptr, out_ptr, start, end, STEP: tl.constexpr):
    largest = tl.full((), -1000, tl.int32)
    for i in range(start, end, STEP):
        row = tl.load(x_ptr + (i.to(tl.int64) - start) // STEP * 256 + tl.arange(0, 256))
        largest = tl.maximum(largest + 1, tl.max(row, 0))
    tl.store(out_ptr, largest)


TILES = [(0, LARGE, 2**28), (LARGE, 2**31 - 1, 7), (LARGE, LARGE + 1, 2**20), (-(2**31), 2**31 - 1, 2**30), (-(2**31), 2**31 - 1, 2**29), (-5, 2**31 - 1, 2**31 - 1),
         (2**31 - 3, -(2**31), 2**30), (7, 7, 2**30), (3, 103, 25)]


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("start, end, step", TILES)
@pytest.mark.parametrize("given", [True, False])
def test_matmuls(start, end, step, stages, given):
    a = np.random.default_rng(0).integers(-3, 4, (16, 32, 32)).astype(np.float16)
    b = np.random.default_rng(1).integers(-3, 4, (32, 32)).astype(np.float16)
    out = np.full((32, 32), -1, np.float32)
    matmuls_kernel[(1,)](a, b, out, start, end, step if given else tl.constexpr(step), STAGES=stages, SIZE=32)
    expected = a[:len(range(start, end, step))].astype(np.float32).sum(0) @ b.astype(np.float32)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("start, end, step", TILES)
def test_reductions(start, end, step):
    x = np.random.default_rng(0).integers(-9, 10, (16, 256)).astype(np.int32)
    out = np.zeros(1, np.int32)
    largest_kernel[(1,)](x, out, start, end, STEP=step)
    expected = -1000
    for row in x[:len(range(start, end, step))]:
        expected = max(expected + 1, row.max())
    assert out[0] == expected


@pytest.mark.parametrize("start, end, step", [(0, 5 * 10**9, 25 * 10**8), (0, 9 * 10**9, 3 * 10**9), (7 * 10**9, 0, -3 * 10**9), (-9 * 10**9, 0, 4 * 10**9)])
def test_steps_beyond_int32(start, end, step):
    check(count_kernel, start, end, step, np.int64)


@pytest.mark.parametrize("step", [2**33, 2**31, 2**29])
def test_unsigned_bounds_of_a_wider_loop(step):
    bounds, out = np.array([3 * 10**9, 4 * 10**9], np.uint32), np.zeros(2, np.int64)
    loaded_kernel[(1,)](out, bounds, STEP=step)
    numbers = range(3 * 10**9, 4 * 10**9, step)
    assert out.tolist() == [len(numbers), numbers[-1]]
