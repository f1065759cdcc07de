"""Loops, branches, calls and early returns; values that a loop carries from one iteration to the next."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@triton.jit
def loop_kernel(x_ptr, out_ptr, n, step, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    count = 0
    x_ptrs = x_ptr + offsets
    for i in range(0, n, step):
        total += tl.load(x_ptrs)
        x_ptrs += BLOCK * step
        count += 1
    tl.store(out_ptr + offsets, total + count)


@pytest.mark.parametrize("n, step", [(0, 1), (1, 1), (5, 1), (7, 3), (8, 2)])
def test_for_with_bounds_known_at_run_time(n, step):
    x = random((16, 64), "fp32", 1)
    out = np.zeros(64, np.float32)
    loop_kernel[(1,)](x, out, n, step, BLOCK=64)
    expected = np.zeros(64, np.float32)
    iterations = range(0, n, step)
    for i in iterations:
        expected += x[i]
    np.testing.assert_array_equal(out, expected + np.float32(len(iterations)))


@triton.jit
def collatz_kernel(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.program_id(0))
    steps = 0
    while x != 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(out_ptr + tl.program_id(0), steps)


def test_while_and_if():
    x = np.arange(1, 40, dtype=np.int32)
    out = np.zeros_like(x)
    collatz_kernel[(x.size,)](x, out)

    def steps(value):
        return 0 if value == 1 else 1 + steps(value // 2 if value % 2 == 0 else 3 * value + 1)

    np.testing.assert_array_equal(out, [steps(int(value)) for value in x])


@triton.jit
def nested_kernel(out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.int32)
    for i in range(n):
        for j in range(i, n):
            if (i + j) % 3 == 0:
                acc += offsets * i
            elif j % 2 == 1:
                acc -= j
    tl.store(out_ptr + offsets, acc)


def test_nested_loops_with_branches():
    out = np.zeros(32, np.int32)
    nested_kernel[(1,)](out, 9, BLOCK=32)
    offsets, expected = np.arange(32), np.zeros(32, np.int64)
    for i in range(9):
        for j in range(i, 9):
            expected += offsets * i if (i + j) % 3 == 0 else -j if j % 2 == 1 else 0
    np.testing.assert_array_equal(out, expected)


@triton.jit
def unrolled_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr, TIMES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + offsets)
    for i in tl.static_range(TIMES):
        if i % 2 == 0:
            y = y * 2
        else:
            y = y + i
    for i in tl.range(3, 0, -1):
        y = y - i
    tl.store(out_ptr + offsets, y)


def test_static_range_and_a_negative_step():
    x = random(64, "int32", 1, -100, 100)
    out = np.zeros_like(x)
    unrolled_kernel[(1,)](x, out, BLOCK=64, TIMES=5)
    expected = x.copy()
    for i in range(5):
        expected = expected * 2 if i % 2 == 0 else expected + i
    np.testing.assert_array_equal(out, expected - 6)


@triton.jit
def sign(x):
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@triton.jit
def early_kernel(x_ptr, out_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    tl.store(out_ptr + pid, sign(tl.load(x_ptr + pid)))


def test_early_return():
    x = np.array([5, -3, 0, 7, -1], np.int32)
    out = np.full(5, 9, np.int32)
    early_kernel[(5,)](x, out, 3)
    np.testing.assert_array_equal(out, [1, -1, 0, 9, 9])


@triton.jit
def fibonacci_kernel(out_ptr, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    tl.store(out_ptr, a)


@pytest.mark.parametrize("n", [0, 1, 2, 30])
def test_carried_values_that_trade_places(n):
    out = np.zeros(1, np.int32)
    fibonacci_kernel[(1,)](out, n)
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    assert out[0] == a


@triton.jit
def shift_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    before = tl.zeros((BLOCK,), tl.float32)
    now = tl.load(x_ptr + offsets)
    for i in range(1, n):
        after = tl.load(x_ptr + i * BLOCK + offsets)
        tl.store(out_ptr + (i - 1) * BLOCK + offsets, before + now + after)
        before = now
        now = after
    tl.store(out_ptr + (n - 1) * BLOCK + offsets, before + now)


def test_yielded_tiles():
    x = random((6, 64), "fp32", 1)
    out = np.zeros_like(x)
    shift_kernel[(1,)](x, out, 6, BLOCK=64)
    expected = x.copy()
    zero = np.zeros((1, 64), np.float32)
    expected = (np.concatenate([zero, x[:-1]]) + x) + np.concatenate([x[1:], zero])
    np.testing.assert_array_equal(out, expected)


@triton.jit
def choose_kernel(x_ptr, out_ptr, flag, MODE: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = x * 2 if MODE == "double" else x
    if flag:
        z = y + 1
    else:
        z = y - 1
    tl.store(out_ptr + offsets, z)


@pytest.mark.parametrize("mode", ["double", "keep"])
@pytest.mark.parametrize("flag", [True, False])
def test_a_constant_and_a_run_time_branch(mode, flag):
    x = random(32, "int32", 1, -100, 100)
    out = np.zeros_like(x)
    choose_kernel[(1,)](x, out, flag, MODE=mode, BLOCK=32)
    np.testing.assert_array_equal(out, x * (2 if mode == "double" else 1) + (1 if flag else -1))


@triton.jit
def repeated_kernel(x_ptr, out_ptr, low, high, STEP: tl.constexpr, FACTOR: tl.constexpr):
    """The result depends on the order of the iterations, and two values are swapped in each."""
    offs = tl.arange(0, 16)
    p = x_ptr + offs
    a = tl.zeros((16,), tl.float32)
    b = tl.full((16,), 1.0, tl.float32)
    last = -1
    for i in tl.range(low, high, STEP, loop_unroll_factor=FACTOR):
        a, b = b, a * 0.5 + tl.load(p) + i
        p += 16
        last = i
    tl.store(out_ptr + offs, a)
    tl.store(out_ptr + 16 + offs, b)
    tl.store(out_ptr + 32, last)


@pytest.mark.parametrize("factor", [1, 2, 3, 8])
@pytest.mark.parametrize("low, high, step", [(0, 12, 1), (0, 7, 1), (5, 5, 1), (9, 2, 1), (-3, 8, 3), (10, -4, -3), (-4, 10, -1), (0, 2, 5)])
def test_iterations_in_groups(low, high, step, factor):
    x = np.random.default_rng(high + 30).standard_normal((16, 16)).astype(np.float32)
    out = np.full(33, np.nan, np.float32)
    repeated_kernel[(1,)](x, out, low, high, STEP=step, FACTOR=factor)
    a, b, last = np.zeros(16, np.float32), np.ones(16, np.float32), -1
    for iteration, i in enumerate(range(low, high, step)):
        a, b, last = b, a * np.float32(0.5) + x[iteration] + np.float32(i), i
    np.testing.assert_allclose(out, np.concatenate([a, b, [last]]), rtol=1e-5, atol=1e-5)


@triton.jit
def grouped_matmul_kernel(a_ptr, b_ptr, out_ptr, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr, FACTOR: tl.constexpr, STAGES: tl.constexpr):
    offs, inner = tl.arange(0, BLOCK), tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs[:, None] * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * BLOCK + offs[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in tl.range(0, tl.cdiv(K, BLOCK_K), loop_unroll_factor=FACTOR, num_stages=STAGES):
        left = K - k * BLOCK_K
        a = tl.load(a_ptrs, mask=inner[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < left, other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * BLOCK
    tl.store(out_ptr + offs[:, None] * BLOCK + offs[None, :], acc)


@pytest.mark.parametrize("factor, stages", [(2, 1), (2, 3), (4, 2)])
@pytest.mark.parametrize("K", [32, 160, 200, 256])
def test_grouped_matmul(K, factor, stages):
    rng = np.random.default_rng(K)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((64, K), (K, 64)))
    out = np.full((64, 64), np.nan, np.float32)
    grouped_matmul_kernel[(1,)](a, b, out, K, BLOCK=64, BLOCK_K=32, FACTOR=factor, STAGES=stages)
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


@triton.jit
def null_kernel(table_ptr, out_ptr, n):
    """A list of addresses that ends with a null pointer."""
    count = 0
    p = tl.load(table_ptr).to(tl.pointer_type(tl.int32))
    while p:
        count += tl.load(p)
        table_ptr += 1
        p = tl.load(table_ptr).to(tl.pointer_type(tl.int32))
    if table_ptr and n > 0:
        tl.store(out_ptr, count)
    tl.store(out_ptr + 1, 3 if p else 4)


@pytest.mark.unchecked
def test_pointers_as_conditions(engine):
    if engine == "cuda":
        pytest.skip("the addresses are the host's")
    values = np.array([5, 7, 11], np.int32)
    table = np.array([values.ctypes.data + 4 * i for i in (0, 2, 1)] + [0], np.int64)
    out = np.zeros(2, np.int32)
    null_kernel[(1,)](table, out, 1)
    assert out.tolist() == [23, 4]


@triton.jit
def pair_kernel(out_ptr, n):
    pair = (1, 2)
    for i in range(n):
        tl.store(out_ptr + i, pair[0])
        pair = (pair[1], pair[0] + pair[1])
    tl.store(out_ptr + n, pair[1])


def test_a_tuple_of_numbers_that_a_loop_replaces():
    out = np.zeros(6, np.int32)
    pair_kernel[(1,)](out, 5)
    np.testing.assert_array_equal(out, [1, 2, 3, 5, 8, 21])


@triton.jit
def long_block_kernel(x_ptr, out_ptr, stride, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(out_ptr + i * stride, tl.load(x_ptr + i) + i)


def test_a_block_of_thousands_of_accesses():
    """LLVM's scheduler alone would take a minute and a half on CPUs, and its address optimizations half a minute on GPUs."""
    x = np.arange(2000, dtype=np.float32)
    out = np.zeros(4000, np.float32)
    long_block_kernel[(1,)](x, out, 2, 2000)
    np.testing.assert_array_equal(out[::2], 2 * x)
    assert not out[1::2].any()
