"""Evaluation at compile time gives Python's results: functions of Python's modules, and methods. Each line has an expression and its value in CPython."""
# RUN: tilewright compile %s --kernel k --signature '*fp32' -o %t.o
# RUN: not tilewright compile %s --kernel bad_zfill --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=ZFILL
# RUN: not tilewright compile %s --kernel long_zfill --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=LONG
# RUN: not tilewright compile %s --kernel bad_const --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=CONST
# RUN: not tilewright compile %s --kernel bad_name --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=NAME
import collections
import copy
import functools
import itertools
import math
import os

import triton
import triton.language as tl

Point = collections.namedtuple("Point", ["x", "y"])


def scaled(factor, x, offset=0):
    return factor * x + offset


def copied():
    first = [[1], {2: 3}]
    shallow, deep = copy.copy(first), copy.deepcopy(first)
    deep[0].append(4)
    deep[1][5] = 6
    shallow.append(7)
    return first, deep, shallow


def popped():
    items = [1, 2, 3, 4]
    return items.pop(), items.pop(0), items.pop(-1), items


def sets():
    a, b = {1, 2}, {2, 3}
    a.add(5)
    a.discard(9)
    a.discard(1)
    b.remove(3)
    union, both, left = a.union(b), a.intersection(b), a.difference(b)
    other = a.copy()
    other.update([8, 9])
    return sorted(union), sorted(both), sorted(left), sorted(other), sorted(a), b.issubset(a), b.issuperset(a)


def unpacked():
    numbers = [0, 0, 0]
    [numbers[0], numbers[1]] = 1, 2
    (a, *b), c = (3, 4, 5), 6
    return numbers, a, b, c


def nested():
    def with_default(x, y=2, *rest, z: int = 3):
        return x + y + z + len(rest)

    def from_module():
        import math as m
        from functools import reduce as fold
        return fold(lambda a, b: a + b, [m.floor(2.5), 1])

    return with_default(1), with_default(1, 1, 1, z=1), from_module()


def printed():
    print("compile-time code prints nothing")
    breakpoint()
    return 3


[first, second] = 1, 2

CHECKS = [
    (printed(), 3), ([first, second], [1, 2]),
    (triton.Config({"BLOCK": 32}, num_warps=2, num_stages=4).all_kwargs(), {"BLOCK": 32, "num_warps": 2, "num_stages": 4, "num_ctas": 1}),
    (math.exp(1) == math.e, True),
    ([round(f(0.5), 12) for f in (math.exp2, math.expm1, math.log2, math.log10, math.log1p, math.sin, math.cos, math.tan, math.asin, math.acos, math.atan)], [1.414213562373, 0.6487212707, -1.0, -0.301029995664, 0.405465108108, 0.479425538604, 0.87758256189, 0.546302489844, 0.523598775598, 1.047197551197, 0.463647609001]),
    ([round(f(0.5), 12) for f in (math.sinh, math.cosh, math.tanh, math.erf, math.erfc, math.gamma, math.lgamma, math.cbrt, math.radians, math.degrees)], [0.521095305494, 1.127625965206, 0.46211715726, 0.520499877813, 0.479500122187, 1.772453850906, 0.572364942925, 0.793700525984, 0.00872664626, 28.647889756541]),
    ([math.fabs(-2), math.sqrt(2.25), math.pow(2, 3), math.fmod(-7, 3), math.hypot(3, 4), math.copysign(2, -0.0), round(math.atan2(1, -1), 12)], [2.0, 1.5, 8.0, -1.0, 5.0, -2.0, 2.356194490192]),
    ([round(math.log(8), 12), math.log(8, 2), math.isqrt(0), math.isqrt(99), math.isqrt(100), math.isqrt(2 ** 100 - 1), math.prod([2, 3, 4])], [2.07944154168, 3.0, 0, 9, 10, 1125899906842623, 24]),
    ([f(x) for f in (math.isnan, math.isinf, math.isfinite) for x in (math.nan, -math.inf, 1.0)], [True, False, False, False, True, False, False, False, True]),
    ([math.ceil(-1.5), math.floor(-1.5), math.trunc(-1.5), math.gcd(12, 18), math.lcm(4, 6)], [-1, -2, -1, 6, 12]),
    (list(itertools.chain([1, 2], (3, ), "ab")), [1, 2, 3, 'a', 'b']),
    (list(itertools.product([1, 2], "ab")), [(1, 'a'), (1, 'b'), (2, 'a'), (2, 'b')]),
    (functools.partial(scaled, 3, offset=1)(5), 16),
    (functools.partial(scaled, 3, offset=1)(5, offset=2), 17),
    (functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]), 24),
    (copied(), ([[1], {2: 3}], [[1, 4], {2: 3, 5: 6}], [[1], {2: 3}, 7])),
    (list(enumerate("ab", start=3)), [(3, 'a'), (4, 'b')]),
    (list(enumerate(["x"])), [(0, 'x')]),
    (next(x for x in [7, 8] if x > 7), 8),
    (next((x for x in []), 5), 5),
    ([bool(x) for x in (0, 1.5, "", "a", [], (0, ), None)], [False, True, False, True, False, True, False]),
    ([callable(x) for x in (len, scaled, 3)], [True, True, False]),
    ("one two".title(), 'One Two'),
    ("one TWO".capitalize(), 'One two'),
    ("a\nb\n\nc".splitlines(), ['a', 'b', '', 'c']),
    ("a\nb\n".splitlines(), ['a', 'b']),
    ("".splitlines(), []),
    ("aXbXc".replace("X", "--"), 'a--b--c'),
    ("aXbXc".replace("X", "", 1), 'abXc'),
    ("abcabc".find("a", 1), 3),
    (["abcabc".find("z"), "abcabc".find("c", 0, 2), "abcabc".count("a", 1), "abcabc".count("a", -3, -1)], [-1, -1, 1, 1]),
    (["abc".startswith("b", 1), "abc".endswith(("b", "x"), 0, 2), "abc".startswith("a", 1)], [True, True, False]),
    ("7".zfill(3), '007'),
    ("-7".zfill(4), '-007'),
    ("a-b".removeprefix("a-").removesuffix("b"), ''),
    (["12".isdigit(), "".isdigit(), "1a".isdigit()], [True, False, False]),
    ([1, 2, 1].index(2), 1),
    ([1, 2, 1].count(1), 2),
    ((1, 2, 1).index(1), 0),
    ((1, 2, 1).count(3), 0),
    (popped(), (4, 1, 3, [2])),
    (sets(), ([2, 5], [2], [5], [2, 5, 8, 9], [2, 5], True, False)),
    ([{1, 2} == {2, 1}, {1} == {2}, {1: 2, 3: [4]} == {3: [4], 1: 2}, {1: 2} == {1: 3}, {1: 2} == {1: 2, 2: 3}], [True, False, True, False, False]),
    ([{(1, 2): "a", (1, (2, 3)): "b"}[(1, (2, 3))], (1, 2) in {(1, 2)}], ['b', True]),
    ([None == None, ... == ..., None == 0], [True, True, False]),
    (Point(1, 2)._replace(y=5), Point(1, 5)),
    (Point(1, 2)._asdict(), {'x': 1, 'y': 2}),
    (Point(3, 4).index(4), 1),
    (os.getenv("NO_SUCH_VARIABLE_OF_A_TEST", "absent"), 'absent'),
    ((3).real, 3),
    ((5).bit_length(), 3),
    ((2.0).is_integer(), True),
    (unpacked(), ([1, 2, 0], 3, [4, 5], 6)),
    (nested(), (6, 4, 3)),
]
WRONG = tl.constexpr([result for result, expected in CHECKS if result != expected])


@triton.jit
def k(x_ptr):
    tl.static_assert(len(WRONG) == 0, f"otherwise than in Python: {WRONG}")
    tl.store(x_ptr, 1.0)


# ZFILL: :[[#@LINE+1]]:{{.*}} error: zfill() needs a width
ZFILL = tl.constexpr(lambda: "a".zfill())
# LONG: :[[#@LINE+1]]:{{.*}} error: zfill() to more than 10000 characters is not supported
LONG = tl.constexpr(lambda: len("a".zfill(20000)))
# CONST: :[[#@LINE+1]]:{{.*}} error: tl.const is an annotation
CONST = tl.constexpr(lambda: tl.const(3))


def suggested():
    value = 1

    def inner():
        # NAME: :[[#@LINE+2]]:{{.*}} error: name 'valeu' is not defined
        # NAME: help: did you mean 'value'?
        return valeu

    return inner()


@triton.jit
def bad_zfill(x_ptr):
    tl.store(x_ptr, ZFILL())


@triton.jit
def long_zfill(x_ptr):
    tl.store(x_ptr, LONG())


@triton.jit
def bad_const(x_ptr):
    tl.store(x_ptr, CONST())


NAME = tl.constexpr(suggested)


@triton.jit
def bad_name(x_ptr):
    tl.store(x_ptr, NAME())
