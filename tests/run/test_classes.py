"""Namedtuples, aggregates and tuples of constants: made in kernels, passed to them, returned by their functions."""

from typing import NamedTuple

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.errors import CompilationError


class Point(NamedTuple):
    x: tl.tensor
    y: tl.tensor
    scale: tl.constexpr = 2


@triton.jit
def make_point(x, y):
    return Point(x=x, y=y)


@triton.jit
def namedtuple_kernel(out_ptr, given):
    i = tl.arange(0, 16)
    p = make_point(i, given.y)
    q = Point(p.x + given.x, p.y, 3)
    tl.static_assert(isinstance(q, Point))
    tl.static_assert(q.scale == 3)
    tl.store(out_ptr + i, (q.x + q.y) * p.scale)


def test_namedtuples_are_made_and_returned():
    out = np.zeros(16, np.int32)
    namedtuple_kernel[(1, )](out, Point(5, 7))
    np.testing.assert_array_equal(out, (np.arange(16) + 5 + 7) * 2)


@triton.jit
def constant_namedtuple_kernel(out_ptr, given: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, given.x), given.y)


def test_a_namedtuple_is_a_constant():
    out = np.zeros(8, np.int32)
    constant_namedtuple_kernel[(1, )](out, Point(8, 7))
    np.testing.assert_array_equal(out, 7)


@triton.jit
def constant_tuple_kernel(out_ptr, shape, factor, nested):
    i = tl.arange(0, shape[0])
    tl.static_assert(isinstance(shape[0].type, tl.constexpr_type))
    for _ in range(1):
        tl.static_assert(nested[1][0] == 3)
    tl.store(out_ptr + i, i * factor + nested[0])


def test_constants_stay_constants_in_tuples_and_as_arguments():
    out = np.zeros(8, np.int32)
    constant_tuple_kernel[(1, )](out, (tl.constexpr(8), ), tl.constexpr(5), (2, (tl.constexpr(3), )))
    np.testing.assert_array_equal(out, np.arange(8) * 5 + 2)
    # Another constant means another compilation, and a plain int is not a constant.
    wide = np.zeros(16, np.int32)
    constant_tuple_kernel[(1, )](wide, (tl.constexpr(16), ), 4, (2, (tl.constexpr(3), )))
    np.testing.assert_array_equal(wide, np.arange(16) * 4 + 2)
    with pytest.raises(CompilationError, match="must be known at compile time"):
        constant_tuple_kernel[(1, )](out, (8, ), 4, (2, (tl.constexpr(3), )))


@triton.jit
def forty_two():
    return tl.constexpr(42)


@triton.jit
def sign(x):
    if x < 0:
        return -1
    else:
        return 1


@triton.jit
def returned_constants_kernel(out_ptr, n):
    x: tl.constexpr = forty_two()
    tl.static_assert(x == 42)
    y: tl.constexpr = sign(-3)
    tl.static_assert(y == -1)
    tl.static_assert(sign(n).type == tl.int32)
    pair = (sign(n), n)
    tl.static_assert(pair.type == tl.tuple_type([tl.int32, tl.int32]))
    tl.store(out_ptr, x + sign(n))


@pytest.mark.parametrize("n", [-5, 5])
def test_functions_return_constants(n):
    out = np.zeros(1, np.int32)
    returned_constants_kernel[(1, )](out, n)
    assert out[0] == 42 + (1 if n > 0 else -1)


@triton.jit
def block(offsets: tl.constexpr, out_ptr, value: tl.constexpr):
    tl.store(out_ptr + offsets, value)


@triton.jit
def constexpr_parameter_kernel(out_ptr):
    block(tl.arange(0, 8), out_ptr, tl.program_id(0) + 3)


def test_constexpr_parameters_of_functions_take_run_time_values():
    out = np.zeros(8, np.int32)
    constexpr_parameter_kernel[(1, )](out)
    assert (out == 3).all()


@triton.aggregate
class Vector:
    x: tl.tensor
    y: tl.tensor
    SCALE: tl.constexpr = 10

    @triton.jit
    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y, self.SCALE)

    @triton.jit
    def __getitem__(self, index):
        return self.x if index == 0 else self.y

    def swapped(self, _semantic=None):
        return Vector(self.y, self.x, self.SCALE)

    @triton.constexpr_function
    def twice(self):
        return 2 * self.SCALE

    @staticmethod
    @triton.jit
    def of(x):
        return Vector(x, x + 1)

    @triton.jit
    def total(self):
        return (self.x + self.y) * self.SCALE


@triton.aggregate
class Complex:
    re: tl.tensor
    im: tl.tensor

    @triton.jit
    def __neg__(self):
        return Complex(-self.re, -self.im)

    @triton.jit
    def __invert__(self):
        return Complex(self.re, -self.im)

    @triton.jit
    def __rmul__(self, factor):
        return Complex(factor * self.re, factor * self.im)

    @triton.jit
    def __gt__(self, bound):
        return self.re > bound


@triton.jit
def operators_kernel(out_ptr):
    i = tl.arange(0, 8)
    z = -(i * ~Complex(i, i + 1))
    tl.store(out_ptr + i, z.re)
    tl.store(out_ptr + 8 + i, z.im)
    tl.store(out_ptr + 16 + i, (-10 < z).to(tl.int32))


def test_operators_of_one_operand_and_from_the_right():
    out, i = np.zeros(24, np.int32), np.arange(8)
    operators_kernel[(1, )](out)
    np.testing.assert_array_equal(out.reshape(3, 8), [-i * i, i * (i + 1), -i * i > -10])


@triton.aggregate
class Weighted(Vector):
    weight: tl.tensor

    @triton.jit
    def weighted(self):
        return self.total() * self.weight


@triton.aggregate
class Rows:
    first: tl.tensor
    SIZE: tl.constexpr

    def __init__(self, size, start, _semantic=None):
        self.SIZE = tl.constexpr(size)
        self.first = tl.arange(0, size, _semantic=_semantic) + start


@triton.jit
def aggregate_kernel(out_ptr, n):
    i = tl.arange(0, 8)
    v = Vector(i, i * 2)
    w = v + Vector.of(n)
    for _ in range(3):
        w = w + v
    tl.static_assert(w.twice() == 20)
    tl.static_assert(isinstance(w, Vector))
    s = w.swapped()
    t = tl.aggregate_replace(s, x=s.x + 1)
    rows = Rows(8, n)
    tl.store(out_ptr + i, w.total())
    tl.store(out_ptr + 8 + i, t[0] - t.y)
    tl.store(out_ptr + 16 + i, Weighted(i, i, 10, i).weighted())
    tl.store(out_ptr + 24 + i, rows.first * rows.SIZE)


def test_aggregates():
    out = np.zeros(32, np.int32)
    aggregate_kernel[(1, )](out, 5)
    i = np.arange(8)
    x, y = i * 4 + 5, i * 8 + 6
    np.testing.assert_array_equal(out[:8], (x + y) * 10)
    np.testing.assert_array_equal(out[8:16], y + 1 - x)
    np.testing.assert_array_equal(out[16:24], 2 * i * 10 * i)
    np.testing.assert_array_equal(out[24:], (i + 5) * 8)


@triton.jit
def assigning_kernel(out_ptr):
    v = Vector(tl.arange(0, 8), tl.arange(0, 8))
    v.x = v.y


@triton.jit
def runtime_constexpr_kernel(out_ptr, n):
    Vector(n, n, n)


@pytest.mark.parametrize("kernel, words", [(assigning_kernel, "assignment to an attribute"),
                                           (runtime_constexpr_kernel, "field 'SCALE' of 'Vector' must be known at compile time")])
def test_aggregates_do_not_change(kernel, words):
    arguments = [np.zeros(8, np.int32), 5][:len(kernel.arg_names)]
    with pytest.raises(CompilationError, match=words):
        kernel[(1, )](*arguments)


def test_aggregates_on_the_host():
    v = Vector(1, y=2)
    assert (v.x, v.y, v.SCALE.value) == (1, 2, 10)
    changed = tl.aggregate_replace(v, x=5)
    assert (changed.x, v.x) == (5, 1)
    with pytest.raises(AttributeError, match="cannot assign to field 'x' on immutable aggregate"):
        v.x = 3
    with pytest.raises(TypeError, match="has no field 'z'"):
        tl.aggregate_replace(v, z=1)
    with pytest.raises(TypeError, match="expects an aggregate instance"):
        tl.aggregate_replace(42, x=1)
    with pytest.raises(TypeError, match="Aggregates can only inherit from other aggregates"):
        triton.aggregate(type("Child", (Point, ), {}))


@triton.aggregate
class Sizes:
    rows: tl.constexpr
    columns: tl.constexpr

    def __init__(self, rows, columns):
        self.rows = tl.constexpr(rows)
        self.columns = tl.constexpr(columns)


@triton.jit
def sizes_kernel(out_ptr):
    sizes = Sizes(4, columns=8)
    tl.static_assert(sizes.rows * sizes.columns == 32)
    tl.store(out_ptr + tl.arange(0, sizes.rows * sizes.columns), sizes.columns)


def test_constant_arguments_by_name_make_a_constant():
    out = np.zeros(32, np.int32)
    sizes_kernel[(1,)](out)
    np.testing.assert_array_equal(out, 8)


def halved(x):
    return x // 2


@triton.constexpr_function
def described(sizes, point, names, function):
    assert isinstance(sizes, Sizes) and isinstance(point, Point) and names == ("a", "b", "c")
    return function(int(np.prod([sizes.rows, sizes.columns])) + point.x + len(names))


NAMES = tl.constexpr(("a", "b", "c"))


@triton.jit
def described_kernel(out_ptr):
    tl.store(out_ptr, described(Sizes(4, columns=8), Point(100, 2), NAMES, halved))


def test_host_functions_see_instances_tuples_and_functions():
    out = np.zeros(1, np.int32)
    described_kernel[(1,)](out)
    assert out[0] == 67
