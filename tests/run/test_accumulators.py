"""Sums that dots add to: from outside the loop, swapped, replaced, or used twice. On some targets a dot adds to its sum in place."""

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl

M, N, K = tl.constexpr(128), tl.constexpr(32), tl.constexpr(16)


@triton.jit
def left(x_ptr, number):
    return tl.load(x_ptr + number * M * K + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])


@triton.jit
def right(y_ptr):
    return tl.load(y_ptr + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])


@triton.jit
def keep(out_ptr, number, sum):
    tl.store(out_ptr + number * M * N + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], sum)


@triton.jit
def from_outside(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    first = tl.dot(left(x_ptr, 0), y)
    for i in range(0, n):
        keep(out_ptr, i, tl.dot(left(x_ptr, i + 1), y, first))


@triton.jit
def from_outside_a_while(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    first = tl.dot(left(x_ptr, 0), y)
    i = 0
    while i < n:
        keep(out_ptr, i, tl.dot(left(x_ptr, i + 1), y, first))
        i += 1


@triton.jit
def from_outside_in_a_branch(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    first = tl.dot(left(x_ptr, 0), y)
    for i in range(0, n):
        if i % 2 == 0:
            keep(out_ptr, i, tl.dot(left(x_ptr, i + 1), y, first))
        else:
            keep(out_ptr, i, first)


@triton.jit
def carried_around(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    total = tl.dot(left(x_ptr, 0), y)
    for i in range(0, n):
        inner = total
        for j in range(0, 2):
            inner = tl.dot(left(x_ptr, i + j), y, inner)
        keep(out_ptr, i, inner)
        total = tl.dot(left(x_ptr, i + 1), y, total)
    keep(out_ptr, n, total)


@triton.jit
def twice(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    first = tl.dot(left(x_ptr, 0), y)
    for i in range(0, n):
        second = tl.dot(left(x_ptr, i), y)
        one = tl.dot(left(x_ptr, i + 1), y, second)
        other = tl.dot(left(x_ptr, i + 2), y, second)
        keep(out_ptr, i, one + 3 * other)
    keep(out_ptr, n, tl.dot(left(x_ptr, 1), y, first) + 5 * tl.dot(left(x_ptr, 2), y, first))


@triton.jit
def swapped(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    one = tl.zeros((M, N), tl.float32)
    other = tl.dot(left(x_ptr, 0), y)
    for i in range(0, n):
        next = tl.dot(left(x_ptr, i + 1), y, one)
        one = tl.dot(left(x_ptr, i + 2), y, other)
        other = next
    keep(out_ptr, 0, one)
    keep(out_ptr, 1, other)


@triton.jit
def of_the_previous_iteration(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    previous = tl.dot(left(x_ptr, 0), y)
    for i in range(0, n):
        x = left(x_ptr, i + 1)
        next = tl.dot(x, y)
        keep(out_ptr, i, tl.dot(x, y, previous))
        previous = next
    keep(out_ptr, n, previous)


@triton.jit
def replaced(x_ptr, y_ptr, out_ptr, n):
    y = right(y_ptr)
    current = tl.dot(left(x_ptr, 0), y)
    other = tl.dot(left(x_ptr, 1), y)
    for i in range(0, n):
        keep(out_ptr, i, tl.dot(left(x_ptr, i + 1), y, current))
        current = other
    keep(out_ptr, n, current)


def expected_of(kernel, P, n):
    """What the kernel stores; P: the product of each left operand and the right one."""
    stored = {}
    if kernel in (from_outside, from_outside_a_while):
        stored = {i: P[0] + P[i + 1] for i in range(n)}
    elif kernel is from_outside_in_a_branch:
        stored = {i: P[0] if i % 2 else P[0] + P[i + 1] for i in range(n)}
    elif kernel is carried_around:
        stored = {i: sum(P[: i + 1]) + P[i] + P[i + 1] for i in range(n)} | {n: sum(P[: n + 1])}
    elif kernel is twice:
        stored = {i: 4 * P[i] + P[i + 1] + 3 * P[i + 2] for i in range(n)} | {n: 6 * P[0] + P[1] + 5 * P[2]}
    elif kernel is swapped:
        one, other = 0 * P[0], P[0]
        for i in range(n):
            one, other = other + P[i + 2], one + P[i + 1]
        stored = {0: one, 1: other}
    elif kernel is of_the_previous_iteration:
        stored = {i: P[i] + P[i + 1] for i in range(n)} | {n: P[n]}
    elif kernel is replaced:
        stored = {i: P[min(i, 1)] + P[i + 1] for i in range(n)} | {n: P[min(n, 1)]}
    return stored


KERNELS = [from_outside, from_outside_a_while, from_outside_in_a_branch, carried_around, twice, swapped, of_the_previous_iteration, replaced]


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_sums(kernel, n):
    rng = np.random.default_rng(n)
    x, y = rng.integers(-3, 4, (n + 3, 128, 16)).astype(np.float16), rng.integers(-3, 4, (16, 32)).astype(np.float16)
    out = np.full((n + 2, 128, 32), np.nan, np.float32)
    kernel[(1,)](x, y, out, n, num_warps=4)
    for number, tile in expected_of(kernel, x.astype(np.float32) @ y.astype(np.float32), n).items():
        np.testing.assert_array_equal(out[number], tile)
