"""Tiles that nested loops and branches carry: pointers and integers that move by equal amounts, and tiles whose elements are equal."""

import itertools

import numpy as np
import pytest
import tilewright as triton
import tilewright.language as tl


@triton.jit
def step(x_ptr, pointers, moved, weight, left, right, total, k, BRANCH: tl.constexpr):
    total += tl.load(pointers) * weight + left + tl.load(x_ptr + moved)
    if BRANCH == "none":
        pointers += k
        moved += 2
        weight += 0.5
    elif BRANCH == "one":
        if k % 2 == 1:
            pointers += k
            moved += left
            weight = weight * 0.5 + 1
    else:
        if k % 2 == 1:
            pointers += 3
            pointers += k
            moved -= k
            weight += k
        else:
            pointers += left
            moved += 1
            weight = tl.full(weight.shape, 2, tl.float32)
    return pointers, moved, weight, right, left + 1, total


@triton.jit
def inner(x_ptr, pointers, moved, weight, left, right, total, m, LOOP: tl.constexpr, BRANCH: tl.constexpr):
    if LOOP == "for":
        for k in range(m):
            pointers, moved, weight, left, right, total = step(x_ptr, pointers, moved, weight, left, right, total, k, BRANCH)
    elif LOOP == "while":
        k = 0
        while k < m:
            pointers, moved, weight, left, right, total = step(x_ptr, pointers, moved, weight, left, right, total, k, BRANCH)
            k += 1
    else:
        pointers, moved, weight, left, right, total = step(x_ptr, pointers, moved, weight, left, right, total, m, BRANCH)
    return pointers, moved, weight, left, right, total


@triton.jit
def carried_kernel(x_ptr, out_ptr, n, m, B: tl.constexpr, OUTER: tl.constexpr, INNER: tl.constexpr, BRANCH: tl.constexpr):
    i = tl.arange(0, B)
    pointers, moved = x_ptr + i, 20 + i * 2
    weight, total = tl.full((B,), 1, tl.float32), tl.zeros((B,), tl.float32)
    left, right = tl.full((B,), 1, tl.int32), tl.full((B,), 5, tl.int32)
    if OUTER == "for":
        for a in range(n):
            pointers, moved, weight, left, right, total = inner(x_ptr, pointers, moved, weight, left, right, total, m + a, INNER, BRANCH)
    else:
        a = 0
        while a < n:
            pointers, moved, weight, left, right, total = inner(x_ptr, pointers, moved, weight, left, right, total, m + a, INNER, BRANCH)
            a += 1
    tl.store(out_ptr + i, total)
    tl.store(out_ptr + B + i, tl.load(pointers))
    tl.store(out_ptr + 2 * B + i, moved)
    tl.store(out_ptr + 3 * B + i, weight)
    tl.store(out_ptr + 4 * B + i, left * 100 + right)


def expected(x, n, m, block, loop, branch):
    i = np.arange(block)
    at, moved, weight, left, right, total = i, 20 + 2 * i, 1.0, 1, 5, np.zeros(block)
    for a in range(n):
        for k in range(m + a) if loop != "none" else [m + a]:
            total = total + x[at] * weight + left + x[moved]
            if branch == "none":
                at, moved, weight = at + k, moved + 2, weight + 0.5
            elif branch == "one":
                if k % 2 == 1:
                    at, moved, weight = at + k, moved + left, weight * 0.5 + 1
            elif k % 2 == 1:
                at, moved, weight = at + 3 + k, moved - k, weight + k
            else:
                at, moved, weight = at + left, moved + 1, 2.0
            left, right = right, left + 1
    return np.concatenate([total, x[at], moved, np.full(block, weight), np.full(block, left * 100 + right)]).astype(np.float32)


@pytest.mark.parametrize("outer, loop, branch", list(itertools.product(["for", "while"], ["for", "while", "none"], ["none", "one", "both"])))
def test_nests(outer, loop, branch):
    x = np.random.default_rng(0).integers(-8, 9, 512).astype(np.float32)
    for n, m in [(0, 2), (3, 0), (2, 3)]:
        out = np.zeros(5 * 32, np.float32)
        carried_kernel[(1,)](x, out, n, m, B=32, OUTER=outer, INNER=loop, BRANCH=branch)
        np.testing.assert_array_equal(out, expected(x, n, m, 32, loop, branch))
