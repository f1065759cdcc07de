"""Quotients by one number and exponentials of differences from a maximum, whose fast paths hold for whole groups of vectors or not at all."""

import numpy as np
import pytest

import tilewright
import tilewright.language as tl

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -3e-39, 1.17549435e-38, 3.4028235e38, 2.0**-64, 2.0**64, 1.0], dtype=np.float32)
DIVISORS = [3.0, -7.1, 1.9999999, 1e-20, 1e20, 0.0, np.inf, np.nan, 1e-42, 2.0**40, 2.0**-40, 3.4028235e38]


@tilewright.jit
def divide_kernel(x_ptr, d_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x / tl.load(d_ptr), mask=i < n)


@tilewright.jit
def divide_precisely_kernel(x_ptr, d_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, tl.div_rn(x, tl.load(d_ptr)), mask=i < n)


@tilewright.jit
def exp_kernel(x_ptr, out_ptr, sum_ptr, n, BLOCK: tl.constexpr, BASE_2: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=-float("inf"))
    d = x - tl.max(x, axis=0)
    e = tl.exp2(d) if BASE_2 else tl.exp(d)
    tl.store(sum_ptr, tl.sum(e, axis=0))
    tl.store(out_ptr + i, e, mask=i < n)


def same_bits(out, expected):
    nan = np.isnan(expected)
    assert (np.isnan(out) == nan).all()
    np.testing.assert_array_equal(out[~nan].view(np.int32), expected[~nan].view(np.int32))


@pytest.mark.parametrize("n", [1024, 1000])
def test_quotients_by_one_number_are_rounded_once(n, engine):
    # On GPUs x / y is an approximation, as upstream's.
    kernels = [divide_kernel, divide_precisely_kernel] if engine in ("interpret", "cpu") else [divide_precisely_kernel]
    random = np.random.default_rng(1)
    for number, divisor in enumerate(DIVISORS * 2):
        x = (random.standard_normal(n) * np.exp2(random.integers(-60, 60, n))).astype(np.float32)
        if number >= len(DIVISORS):
            x[random.integers(0, n, 40)] = random.choice(SPECIAL, 40)
        d = np.array([divisor], dtype=np.float32)
        for kernel in kernels:
            out = np.zeros(n, dtype=np.float32)
            kernel[(1,)](x, d, out, n, BLOCK=1024)
            with np.errstate(all="ignore"):
                same_bits(out, x / d[0])


@pytest.mark.parametrize("base_2", [False, True])
@pytest.mark.parametrize("n", [1024, 1000])
def test_exponentials_do_not_depend_on_their_neighbors(base_2, n, engine):
    random = np.random.default_rng(2)
    x = random.standard_normal(n).astype(np.float32) * 4
    plain, mixed = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    total = np.zeros(1, dtype=np.float32)
    exp_kernel[(1,)](x, plain, total, n, BLOCK=1024, BASE_2=base_2)
    far = np.setdiff1d(np.arange(5, n, 97), x.argmax())
    y = x.copy()
    y[far] = np.resize(np.array([-np.inf, -100, -1e30, -140, -88.5, -127.5], dtype=np.float32), far.size)
    exp_kernel[(1,)](y, mixed, total, n, BLOCK=1024, BASE_2=base_2)
    near = np.setdiff1d(np.arange(n), far)
    function = np.exp2 if base_2 else np.exp
    # A GPU has no subnormal results of exp.
    np.testing.assert_allclose(mixed, function(y.astype(np.float64) - y.max()), rtol=1e-5, atol=3e-45 if engine in ("interpret", "cpu") else 1.2e-38)
    np.testing.assert_array_equal(mixed[near].view(np.int32), plain[near].view(np.int32))
    np.testing.assert_allclose(total[0], mixed.astype(np.float64).sum(), rtol=1e-6)


def test_a_row_with_nan_is_nan_where_it_should_be():
    x = np.zeros(1024, dtype=np.float32)
    x[700] = np.nan
    out, total = np.zeros(1024, dtype=np.float32), np.zeros(1, dtype=np.float32)
    exp_kernel[(1,)](x, out, total, 1024, BLOCK=1024, BASE_2=False)
    assert np.isnan(total[0]) and np.isnan(out[700])
    np.testing.assert_array_equal(np.delete(out, 700), 1)
