"""Launches with objects that misbehave in every way that Python allows: each is taken or refused with an exception, and none ends the process."""

import ctypes
import fractions
import itertools
import random

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@pytest.fixture(params=["cpu", "interpret", "simulate"])
def engine(request):
    with triton.engine(request.param):
        yield request.param


@triton.jit
def kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, n, mask=at < 0)


@triton.jit
def tuple_kernel(items, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 0)


class Oops(Exception):
    pass


def raising(error):
    def method(self, *args, **options):
        raise error
    return method


ANSWERS = [None, True, -1, 0, 3, 1 << 31, 1 << 63, 1 << 200, -(1 << 200), 1.5, float("nan"), float("inf"), "", "float32", "void", b"", (), (1,), [], {}, object(),
           type, int, np.float32(2), np.int64(-5), np.zeros(()), np.zeros(3), tl.float32, slice(None), ..., 1j]
ERRORS = [Oops("oops"), TypeError("no"), AttributeError("none"), OverflowError("large"), ValueError(""), RecursionError("deep"), MemoryError(), StopIteration()]
PROTOCOLS = ["__len__", "__index__", "__int__", "__float__", "__bool__", "__iter__", "__getitem__", "__hash__", "__eq__", "__str__", "__repr__", "__dlpack__",
             "__dlpack_device__", "__cuda_array_interface__", "__array_interface__", "data_ptr", "dtype", "shape", "stride", "strides", "device", "get_device",
             "numel", "base", "block_shape", "padding", "item", "value", "_fields", "_tilewright_value", "_tilewright_name", "__class__", "cuda_stream", "ptr"]
BASES = [object, int, float, str, tuple, list, dict, bytes, np.ndarray]


def odd_object(rng):
    """An object of a new class, some of whose methods and attributes are wrong."""
    members = {}
    for name in rng.sample(PROTOCOLS, rng.randrange(1, 6)):
        answer, error = rng.choice(ANSWERS), rng.choice(ERRORS)
        kind = rng.randrange(4)
        if kind == 0:
            members[name] = raising(error)
        elif kind == 1:
            members[name] = property(raising(error))
        elif kind == 2:
            members[name] = answer
        else:
            members[name] = lambda self, *args, _answer=answer, **options: _answer
    base = rng.choice(BASES)
    try:
        made = type("Odd", (base,), members)
        return made((2,)) if base is np.ndarray else made()
    except Exception:
        return object()


PLAIN = [np.zeros(8, np.float32), np.zeros(()), np.zeros(0), np.zeros((4, 4))[::-1, ::-2], np.zeros(4, ">f4"), np.zeros(4, np.complex64), np.zeros(4, object),
         np.zeros(4, "U3"), np.zeros(4, "V8"), np.zeros(4, "M8[s]"), np.zeros(2, [("a", "i4")]), np.longdouble(1), np.float16(1), np.bool_(True), np.datetime64("now"),
         np.str_("x"), np.bytes_(b"x"), np.lib.stride_tricks.as_strided(np.zeros(1), (1 << 40, 3), (0, 8)), np.ma.zeros(3), np.matrix([[1]]), memoryview(b"abc"),
         memoryview(bytearray(8)).cast("d"), memoryview(np.zeros((2, 3)))[::-1], bytearray(), (ctypes.c_int * 0)(), ctypes.c_int(3), ctypes.py_object(3),
         fractions.Fraction(1, 3), 1 << 64, -(1 << 63) - 1, 10**4000, 1e400, 5e-324, -0.0, "", "\ud800", "\0", b"\xff", range(3), iter([]), lambda: 0, type, NotImplemented, ...,
         triton, tl, tl.load, tl.float32, tl.constexpr(3), tl.constexpr(tl.constexpr("x")), kernel, kernel[(1,)], {}, {1: 2}, frozenset([1]), (), ((),), [[], ()],
         Oops, Oops("x"), 1j, np.dtype("f4"), np.dtype("V3"), np.random.default_rng(0), None, True]


def launch(function, *args, **options):
    try:
        function(*args, **options)
    except Exception:
        pass


@pytest.mark.parametrize("seed", range(8))
def test_odd_objects(seed, engine):
    rng = random.Random(seed)
    for _ in range(12):
        odd = [odd_object(rng) for _ in range(3)]
        x = np.zeros(8, np.float32)
        launch(kernel[(1,)], odd[0], 1, BLOCK=8)
        launch(kernel[(1,)], x, odd[1], BLOCK=8)
        launch(kernel[(1,)], x, 1, BLOCK=odd[2])
        launch(kernel[(1,)], *odd)
        launch(tuple_kernel[(1,)], (odd[0], [odd[1]], x), BLOCK=8)
        launch(tuple_kernel[(1,)], odd, BLOCK=8)
        launch(kernel[(1,)], x, 1, BLOCK=8, **{rng.choice(["num_warps", "num_stages", "num_ctas", "maxnreg", "stream", "num_threads", "debug", "arch", "extern_libs",
                                                           "ir_override", "ptx_options", "enable_fp_fusion"]): odd[0]})
        try:
            launched = kernel[rng.choice([odd[0], (odd[0],), [odd[1]], (1, odd[2]), lambda meta: odd[0]])]
        except Exception:
            continue
        launch(launched, x, 1, BLOCK=8)
    out = np.zeros(8, np.float32)
    kernel[(1,)](out, 1, BLOCK=8)


def test_plain_objects(engine):
    x = np.zeros(8, np.float32)
    for a, b in itertools.product(PLAIN, [1, None, x]):
        launch(kernel[(1,)], a, b if b is not x else 2, BLOCK=8)
        launch(kernel[(1,)], x, a, BLOCK=8)
        launch(kernel[(1,)], x, 1, BLOCK=a)
        launch(tuple_kernel[(1,)], (a, b), BLOCK=8)
        launch(tuple_kernel[(1,)], [a, [a, (a,)]], BLOCK=8)
        launch(triton.reinterpret, a, tl.float32)


def test_lists_that_change_while_they_are_read():
    class Shrinking:
        def __init__(self, items):
            self.items = items

        def __dlpack__(self, **options):
            self.items.clear()
            return np.zeros(1000, np.float32).__dlpack__(**options)

    for _ in range(20):
        items = [np.zeros(1 << 16, np.float32)]
        items.append(Shrinking(items))
        items += [np.zeros(1 << 16, np.float32) for _ in range(5)]
        launch(tuple_kernel[(1,)], items, BLOCK=8)
