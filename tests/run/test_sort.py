"""tl.sort and tl.topk: all lengths, types and orders, and the exact bits where equal numbers have different ones."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from checks import random


@triton.jit
def sort_kernel(x_ptr, out_ptr, LINES: tl.constexpr, N: tl.constexpr, K: tl.constexpr, DESCENDING: tl.constexpr):
    line = tl.arange(0, LINES)[:, None]
    x = tl.load(x_ptr + line * N + tl.arange(0, N)[None, :])
    if K == N:
        y = tl.sort(x, descending=DESCENDING)
    else:
        y = tl.topk(x, K, descending=DESCENDING)
    tl.store(out_ptr + line * K + tl.arange(0, K)[None, :], y)


def run(x, kept, descending):
    lines, length = x.shape
    out = np.zeros((lines, kept), x.dtype)
    sort_kernel[(1,)](x, out, LINES=lines, N=length, K=kept, DESCENDING=descending)
    return out


def expected(x, kept, descending):
    ordered = np.sort(x, 1)
    return (ordered[:, ::-1] if descending else ordered)[:, :kept]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("lines, length, kept", [(1, 1, 1), (2, 2, 2), (2, 4, 1), (1, 8, 8), (4, 16, 2), (1, 32, 16), (2, 64, 64), (1, 256, 4),
                                                 (2, 256, 32), (1, 512, 512), (1, 1024, 128)])
def test_lengths(lines, length, kept, descending):
    x = random((lines, length), "fp32", length)
    np.testing.assert_array_equal(run(x, kept, descending), expected(x, kept, descending))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "fp16", "bf16", "fp64"])
@pytest.mark.parametrize("kept", [64, 8])
def test_types(dtype, kept):
    if dtype == "bf16":
        ml_dtypes = pytest.importorskip("ml_dtypes")
        x = random((2, 64), "fp32", 3).astype(ml_dtypes.bfloat16)
    elif dtype.startswith("fp"):
        x = random((2, 64), dtype, 3)
    else:
        limits = np.iinfo(dtype)  # unsigned and signed comparisons disagree on the largest and smallest
        x = np.random.default_rng(3).integers(limits.min, limits.max, (2, 64), dtype, endpoint=True)
    np.testing.assert_array_equal(run(x, kept, True), expected(x, kept, True))
    np.testing.assert_array_equal(run(x, kept, False), expected(x, kept, False))


@triton.jit
def types_kernel(x_ptr, out_ptr, WIDE: tl.constexpr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tl.static_assert(tl.sort(x).dtype == x.dtype)
    tl.static_assert(tl.topk(x, 64).dtype == x.dtype)
    y = tl.topk(x, K)
    tl.static_assert(y.dtype == WIDE)
    tl.store(out_ptr + tl.arange(0, K), y)


@pytest.mark.parametrize("dtype, wide", [("fp16", "float32"), ("int8", "int32"), ("uint16", "int32"), ("uint32", "uint32"), ("fp64", "float64")])
def test_what_leaves_some_out_has_the_type_of_a_maximum(dtype, wide):
    x = random((64,), dtype, 3) if dtype.startswith("fp") else np.random.default_rng(3).integers(0, 100, 64).astype(dtype)
    out = np.zeros(8, wide)
    types_kernel[(1,)](x, out, WIDE=getattr(tl, wide), K=8)
    np.testing.assert_array_equal(out, np.sort(x)[::-1][:8].astype(wide))


def network(line, descending):
    """The bitonic network, one comparison after the other. A position takes its partner's element if own > partner's, unless exactly one of
    these holds: it is the upper one of the two; the order is descending there."""
    line = line.copy()
    places = np.arange(len(line))
    run = 2
    while run <= len(line):
        falls = np.full(len(line), descending) if run == len(line) else places & run != 0
        distance = run // 2
        while distance:
            partner = line[places ^ distance]
            line = np.where((line > partner) != (falls ^ (places & distance != 0)), partner, line)
            distance //= 2
        run *= 2
    return line


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("length", [4, 16, 128])
def test_equal_numbers_with_other_bits(length, descending):
    chosen = np.random.default_rng(length).integers(0, 5, length)
    x = np.array([0.0, -0.0, np.nan, 1.0, -np.inf], np.float32)[chosen][None]
    wanted = network(x[0], descending)
    np.testing.assert_array_equal(run(x, length, descending).view(np.int32)[0], wanted.view(np.int32))


def test_a_long_line(engine):
    """The size of the code does not depend on the line's length."""
    if engine == "cuda":
        pytest.skip("no shared memory holds such a tile")
    with triton.engine("cpu"):
        x = random((1, 1 << 18), "fp32", 4)
        np.testing.assert_array_equal(run(x, 1 << 18, True), expected(x, 1 << 18, True))
        np.testing.assert_array_equal(run(x, 1 << 12, False), expected(x, 1 << 12, False))
