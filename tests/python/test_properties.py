"""Properties that hold for all values: hypothesis chooses them, and CPython or NumPy knows what is right. The same values at each run.

    TILEWRIGHT_EXAMPLES=5000 python -m pytest tests/python/test_properties.py    as many values of each, others at each run
"""

import os

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import tilewright as triton
import tilewright.language as tl
from tilewright.errors import CompilationError

EXAMPLES = os.environ.get("TILEWRIGHT_EXAMPLES")


def property_of(*strategies, examples=200):
    settings = hypothesis.settings(max_examples=int(EXAMPLES or examples), derandomize=not EXAMPLES, deadline=None, database=None,
                                   suppress_health_check=list(hypothesis.HealthCheck))
    return lambda test: settings(hypothesis.given(*strategies)(test))


@pytest.fixture(autouse=True, scope="module")
def interpreter():
    with triton.engine("interpret", check_bounds=True):
        yield


# ---- text


@triton.jit
def format_kernel(VALUE: tl.constexpr, SPEC: tl.constexpr, EXPECTED: tl.constexpr):
    text: tl.constexpr = f"{VALUE:{SPEC}}"
    tl.static_assert(text == EXPECTED, text)


@triton.jit
def percent_kernel(VALUE: tl.constexpr, SPEC: tl.constexpr, EXPECTED: tl.constexpr):
    text: tl.constexpr = SPEC % VALUE
    tl.static_assert(text == EXPECTED, text)


def agree(kernel, value, spec, python):
    """The kernel formats as Python does, and refuses what is an error there."""
    try:
        expected = python(value, spec)
    except (ValueError, OverflowError, TypeError):
        with pytest.raises(CompilationError, match="is not a format for"):
            kernel.warmup(value, spec, "", grid=(1,))
    else:
        kernel.warmup(value, spec, expected, grid=(1,))


def maybe(strategy):
    return st.just("") | strategy


def texts(*parts):
    return st.tuples(*(maybe(st.sampled_from(part) if isinstance(part, str) else part) for part in parts)).map("".join)


SMALL = st.integers(0, 30).map(str)
VALUES = (st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-100, 100) | st.booleans() | st.floats()
          | st.floats(-1e6, 1e6).map(lambda x: round(x, 3)) | st.text(st.characters(codec="utf-8").filter(lambda one: one.isprintable() or one < "\x80"), max_size=6))


@property_of(VALUES, texts(texts("*xé0", "<>^=").filter(lambda text: len(text) != 1 or text in "<>^="), "+- ", "#", "0", SMALL, "_,",
                           SMALL.map(".{}".format), "dxXobcneEfFgG%s"), examples=600)
def test_format_specs(value, spec):
    agree(format_kernel, value, spec, format)


@property_of(VALUES, texts(st.text("#0- +", max_size=3), SMALL, SMALL.map(".{}".format)), st.sampled_from("diouxXeEfFgGcrs"), examples=400)
def test_conversions_of_the_percent_operator(value, flags, conversion):
    hypothesis.assume(not isinstance(value, float) or abs(value) < 2.0**126 or conversion not in "diu")  # integers have 128 bits
    agree(percent_kernel, value, f"%{flags}{conversion}", lambda value, spec: spec % value)


# ---- shapes and memory


@triton.jit
def broadcast_kernel(a_ptr, b_ptr, out_ptr, A: tl.constexpr, B: tl.constexpr, OUT: tl.constexpr, SIZE_A: tl.constexpr, SIZE_B: tl.constexpr):
    a = tl.load(a_ptr + tl.arange(0, SIZE_A)).reshape(A)
    b = tl.load(b_ptr + tl.arange(0, SIZE_B)).reshape(B)
    sums = a + b
    tl.static_assert(sums.shape == OUT, "another shape than NumPy's")
    tl.store(out_ptr + tl.arange(0, sums.numel), sums.reshape([sums.numel]))


SHAPES = st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=4).map(tuple)


@property_of(SHAPES, SHAPES)
def test_broadcasting(shape_a, shape_b):
    """Shapes broadcast as NumPy's do, and what NumPy refuses is an error."""
    a, b = (1 + np.arange(np.prod(shape), dtype=np.int32) * factor for shape, factor in ((shape_a, 1), (shape_b, 1000)))
    try:
        expected = a.reshape(shape_a) + b.reshape(shape_b)
    except ValueError:
        expected = None
    out = np.zeros(1 if expected is None else expected.size, np.int32)
    launch = lambda: broadcast_kernel[(1,)](a, b, out, shape_a, shape_b, () if expected is None else expected.shape, a.size, b.size)
    if expected is None:
        with pytest.raises(CompilationError):
            launch()
    else:
        launch()
        np.testing.assert_array_equal(out, expected.ravel())


@triton.jit
def gather_kernel(x_ptr, offsets_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = tl.load(offsets_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr + at, tl.load(x_ptr + offsets, mask=at < n), mask=at < n)


SLICES = st.builds(slice, st.none() | st.integers(-6, 6), st.none() | st.integers(-6, 6), st.integers(-3, 3).filter(bool))


@property_of(st.lists(st.tuples(st.integers(1, 5), SLICES), min_size=1, max_size=3), st.booleans(), st.sampled_from(["u1", "i2", "f4", "f8"]))
def test_bounds_of_views(axes, is_transposed, dtype):
    """All elements of a view can be loaded through its strides; the element before the first in memory cannot, nor the one after the last."""
    whole = np.arange(np.prod([size for size, _ in axes])).astype(dtype).reshape([size for size, _ in axes])
    x = whole[tuple(part for _, part in axes)]
    if is_transposed:
        x = x.T
    hypothesis.assume(x.size)
    steps = [stride // x.itemsize for stride in x.strides]
    offsets = np.sum(np.indices(x.shape).reshape(x.ndim, -1) * np.reshape(steps, (-1, 1)), axis=0).astype(np.int64)
    out, block = np.zeros(x.size, x.dtype), triton.next_power_of_2(x.size)
    gather_kernel[(1,)](x, offsets, out, x.size, BLOCK=block)
    np.testing.assert_array_equal(out, x.ravel())
    for outside in (offsets.min() - 1, offsets.max() + 1):
        with pytest.raises(triton.errors.InterpreterError):
            gather_kernel[(1,)](x, np.array([outside]), out, 1, BLOCK=block)
