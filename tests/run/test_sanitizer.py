"""Errors that the interpreter and the simulator report when they check bounds and races, and programs without such errors."""

import warnings

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

ERROR = triton.runtime.errors.InterpreterError


@pytest.fixture(params=["interpret", "simulate"], autouse=True)
def engine(request):
    with triton.engine(request.param, check_bounds=True):
        yield request.param


@triton.jit
def copy_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


@pytest.mark.parametrize("other", [np.zeros(4, np.float32), np.zeros(0, np.float32), np.zeros(4, np.float32)[::-1]], ids=["plain", "empty", "reversed"])
def test_an_argument_is_checked_whatever_the_others_are(other):
    with pytest.raises(ERROR, match="x"):
        copy_kernel[(1,)](np.zeros(32, np.float32), other, np.zeros(64, np.float32), BLOCK=64)


@triton.jit
def backward_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets * stride))


def test_a_reversed_view_has_the_memory_before_its_first_element():
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    backward_kernel[(1,)](x[::-1], out, -1, BLOCK=64)
    np.testing.assert_array_equal(out, x[::-1])
    with pytest.raises(ERROR, match="x_ptr"):
        backward_kernel[(1,)](x[::-1], out, 1, BLOCK=64)


def test_an_access_that_lands_in_another_tensor():
    memory = np.zeros(128, np.float32)
    with pytest.raises(ERROR, match="x_ptr.*where.*out_ptr"):
        copy_kernel[(1,)](memory[:32], memory[:4], memory[32:], BLOCK=64)


class Address:
    """An argument of which only the address is known."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.ctypes.data


def test_an_unknown_extent_is_said_and_the_others_are_checked():
    x, out = np.zeros(32, np.float32), np.zeros(64, np.float32)
    with pytest.warns(RuntimeWarning, match="'y_ptr' is not known"), pytest.raises(ERROR, match="x_ptr"):
        copy_kernel[(1,)](x, Address(x), out, BLOCK=64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy_kernel[(1,)](x, Address(x), out, BLOCK=32)


class Null:
    dtype = np.dtype(np.float32)

    def data_ptr(self):
        return 0


def test_a_null_pointer_is_named():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="'x_ptr': it has elements but no memory"):
            copy_kernel[(1,)](Null(), Null(), np.zeros(32, np.float32), BLOCK=32)


# ---- races


@triton.jit
def one_place(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, tl.program_id(0))


@triton.jit
def missing_atomic(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, tl.load(x_ptr) + 1)


@triton.jit
def overlapping_blocks(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, offsets)


@triton.jit
def neighbors_in_place(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + tl.load(x_ptr + offsets + 1))


@triton.jit
def flag_without_atomics(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(x_ptr, 5)
        tl.store(flag_ptr, 1)
    else:
        while tl.load(flag_ptr, volatile=True) == 0:
            pass
        tl.store(x_ptr + 1, tl.load(x_ptr))


@triton.jit
def volatile_flag(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(x_ptr, 5)
        tl.atomic_xchg(flag_ptr, 1)
    else:
        while tl.load(flag_ptr, volatile=True) == 0:
            pass
        tl.store(x_ptr + 1, tl.load(x_ptr))


@triton.jit
def relaxed_flag(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(x_ptr, 5)
        tl.atomic_xchg(flag_ptr, 1, sem="relaxed")
    else:
        while tl.atomic_add(flag_ptr, 0, sem="relaxed") == 0:
            pass
        tl.store(x_ptr + 1, tl.load(x_ptr))


@triton.jit
def atomic_and_store(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.atomic_add(x_ptr, 1)
    else:
        tl.store(x_ptr, 2)


@pytest.mark.parametrize("kernel", [one_place, missing_atomic, overlapping_blocks, neighbors_in_place, flag_without_atomics, volatile_flag, relaxed_flag, atomic_and_store])
def test_a_race_between_programs(kernel):
    x, flag = np.zeros(64, np.int32), np.zeros(1, np.int32)
    with pytest.raises(ERROR, match=r"test_sanitizer.py:\d+:\d+.*race: .*program \(\d, 0, 0\) has (stored|loaded) there"):
        kernel[(3,)](x, flag, BLOCK=16)


@triton.jit
def twice(x_ptr, value, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets // 2, tl.where(value == 0, offsets, value))


def test_two_elements_of_a_store_at_one_place(engine):
    x = np.zeros(64, np.int32)
    twice[(1,)](x, 3, BLOCK=16)
    if engine == "interpret":
        with pytest.raises(ERROR, match="race: tt.store .* another element of this store"):
            twice[(1,)](x, 0, BLOCK=16)


@triton.jit
def counted(x_ptr, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    tl.atomic_add(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) // 2, tl.arange(0, BLOCK), scope=SCOPE)


@pytest.mark.parametrize("scope", ["cta", "gpu"])
def test_two_elements_of_an_atomic_at_one_place(engine, scope):
    x = np.zeros(64, np.int32)
    counted[(2,)](x, SCOPE=scope, BLOCK=32)
    np.testing.assert_array_equal(x.reshape(2, 32)[:, :16], [np.arange(1, 64, 4)] * 2)


@triton.jit
def added_by_many(x_ptr, BLOCK: tl.constexpr):
    tl.atomic_add(x_ptr + tl.arange(0, BLOCK) % 8, tl.full((BLOCK,), 1, tl.bfloat16))


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_elements_of_many_warps_at_one_place(target):
    """Before sm_90 an atomic of bf16 is a loop of comparisons, whose first load meets what other warps compare."""
    x = np.zeros(8, np.uint16)
    with triton.engine("simulate", target=target, check_bounds=True):
        added_by_many[(1,)](triton.reinterpret(x, tl.bfloat16), BLOCK=256, num_warps=4)
    np.testing.assert_array_equal((x.astype(np.uint32) << 16).view(np.float32), [32.0] * 8)


# ---- ordered accesses


@triton.jit
def locked(x_ptr, lock_ptr, BLOCK: tl.constexpr):
    while tl.atomic_cas(lock_ptr, 0, 1, sem="acquire") == 1:
        pass
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0, sem="release")


@triton.jit
def last_one_sums(x_ptr, count_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + (1 + tl.program_id(0)) * BLOCK + offsets, offsets)
    tl.debug_barrier()
    if tl.atomic_add(count_ptr, 1) == tl.num_programs(0) - 1:
        total = tl.zeros((BLOCK,), tl.int32)
        for i in range(tl.num_programs(0)):
            total += tl.load(x_ptr + (1 + i) * BLOCK + offsets)
        tl.store(x_ptr + offsets, total)


@triton.jit
def added(x_ptr, count_ptr, BLOCK: tl.constexpr):
    tl.atomic_add(x_ptr + tl.arange(0, BLOCK), 1)


@triton.jit
def waits_for_a_later_one(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    """All programs wait for the last one, which begins after them."""
    if tl.program_id(0) == tl.num_programs(0) - 1:
        tl.store(x_ptr, 7)
        tl.debug_barrier()
        tl.atomic_xchg(flag_ptr, 1)
    else:
        while tl.atomic_add(flag_ptr, 0) == 0:
            pass
        tl.store(x_ptr + 1 + tl.program_id(0), tl.load(x_ptr))


@triton.jit
def watched(x_ptr, count_ptr, BLOCK: tl.constexpr):
    if tl.load(count_ptr, volatile=True) < 100:
        tl.atomic_add(count_ptr, 1)
        tl.atomic_add(x_ptr, 1)


@pytest.mark.parametrize("kernel, first", [(locked, 4), (last_one_sums, 0), (added, 4), (waits_for_a_later_one, 7), (watched, 4)])
def test_programs_that_are_ordered(kernel, first):
    x, lock = np.zeros(128, np.int32), np.zeros(1, np.int32)
    kernel[(4,)](x, lock, BLOCK=16)
    assert x[0] == first
    if kernel is last_one_sums:
        np.testing.assert_array_equal(x[:16], 4 * np.arange(16))
    if kernel is waits_for_a_later_one:
        np.testing.assert_array_equal(x[:4], [7, 7, 7, 7])


# ---- waiting for ever


@triton.jit
def never_released(x_ptr, lock_ptr, BLOCK: tl.constexpr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(x_ptr + tl.program_id(0), 1)


@triton.jit
def never_set(x_ptr, flag_ptr, BLOCK: tl.constexpr):
    while tl.atomic_add(flag_ptr, 0) == 0:
        pass


@pytest.mark.parametrize("kernel", [never_released, never_set])
def test_a_deadlock_names_the_loop(kernel):
    with pytest.raises(ERROR, match=r"test_sanitizer.py:\d+:\d+.*deadlock"):
        kernel[(2,)](np.zeros(8, np.int32), np.zeros(1, np.int32), BLOCK=16)


# ---- elements that no load defined


@triton.jit
def sum_of_all(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr, tl.sum(x * 2))


@triton.jit
def store_of_all(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at, row = tl.arange(0, BLOCK), tl.arange(0, BLOCK // 4)
    x = tl.load(x_ptr + at, mask=at < n).reshape((BLOCK // 4, 4)).trans()
    tl.store(out_ptr + tl.arange(0, 4)[:, None] * (BLOCK // 4) + row[None, :], x)


@triton.jit
def branch_on_it(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    if tl.load(x_ptr + n, mask=n < BLOCK // 2) > 0:
        tl.store(out_ptr, 1)


@triton.jit
def store_sorted(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.sort(tl.load(x_ptr + at, mask=at < n)))


@triton.jit
def exchange_it(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_cas(out_ptr.to(tl.pointer_type(tl.int32)) + at, 0, tl.load(x_ptr + at, mask=at < n).to(tl.int32))


@triton.jit
def reduce_multiply(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at[:, None] * 0 + at[None, :], mask=at[None, :] < n + 0 * at[:, None])
    tl.store(out_ptr + at, tl.sum(tl.dot(x, tl.full((BLOCK, BLOCK), 0.0, tl.float32)), 1))


@triton.jit
def multiply_rows(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at[:, None] * 0 + at[None, :], mask=at[:, None] < n + 0 * at[None, :])
    product = tl.dot(x, tl.full((BLOCK, BLOCK), 0.5, tl.float32))
    tl.store(out_ptr + at, tl.sum(product, 1), mask=at < n)


@triton.jit
def what_is_defined(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    transposed = x.reshape((BLOCK // 4, 4)).trans().trans().reshape((BLOCK,))
    tl.store(out_ptr + at, transposed + 1, mask=(at < n) & (x > -1))
    tl.store(out_ptr + at + BLOCK, tl.cumsum(x, 0), mask=at < n)
    tl.store(out_ptr + 2 * BLOCK, tl.sum(tl.where(at < n, x, 0.0)))


@pytest.mark.parametrize("kernel, what", [(sum_of_all, "an element that is stored"), (store_of_all, "an element that is stored"),
                                          (store_sorted, "an element that is stored"), (exchange_it, "an element that is stored"),
                                          (reduce_multiply, "an element that is stored"), (branch_on_it, "the condition")])
def test_undefined_elements(kernel, what):
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    problem = rf"{what} is undefined: it comes from the load at .*test_sanitizer.py:\d+:\d+, whose mask is false there"
    with triton.engine("interpret", check_bounds=True), pytest.raises(ERROR, match=problem):
        kernel[(1,)](x, out, 10, BLOCK=16)
    kernel[(1,)](x, out, 16 if kernel is not branch_on_it else 3, BLOCK=16)


def test_undefined_elements_that_reach_nothing():
    x, out = np.ones(16, np.float32), np.zeros(33, np.float32)
    what_is_defined[(1,)](x, out, 10, BLOCK=16)
    np.testing.assert_array_equal(out, [2] * 10 + [0] * 6 + [*range(1, 11)] + [0] * 6 + [10])


def test_rows_of_a_reduction_have_separate_masks():
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    multiply_rows[(1,)](x, out, 10, BLOCK=16)
    np.testing.assert_array_equal(out, [128] * 10 + [0] * 6)


@triton.jit
def gather_one_off(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.gather(tl.load(x_ptr + at), at.to(tl.int64) + n, 0))


@pytest.mark.parametrize("engine", ["interpret", "simulate"])
@pytest.mark.parametrize("n, wrong", [(1, "16"), (-1, "-1")])
def test_an_index_outside_of_a_tile(engine, n, wrong):
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    with triton.engine(engine, check_bounds=True):
        with pytest.raises(ERROR, match=rf"test_sanitizer.py:\d+:\d+.*index {wrong} along an axis of size 16"):
            gather_one_off[(1,)](x, out, n, BLOCK=16)
        gather_one_off[(1,)](x, out, 0, BLOCK=16)


@triton.jit
def corners_kernel(x_ptr, y_ptr, a_ptr, b_ptr, rows, columns, BLOCK: tl.constexpr):
    m, n = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    a, b = tl.zeros((BLOCK, BLOCK), tl.float32), tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, 4 * BLOCK, BLOCK):
        x = tl.load(x_ptr + m * 4 * BLOCK + k + n)
        a = tl.dot(x, tl.load(y_ptr + (k + m) * BLOCK + n), a)
        b = tl.dot(x, x, b)
    inside = (m < rows) & (n < columns)
    tl.store(a_ptr + m * BLOCK + n, a.to(tl.float16), mask=inside)
    tl.store(b_ptr + m * BLOCK + n, b.to(tl.float16), mask=inside)


@pytest.mark.parametrize("columns", [0, 8])
def test_stores_to_two_empty_corners_are_no_race(engine, columns):
    x, y = np.tile(np.eye(16, dtype=np.float16), 4), np.tile(np.eye(16, dtype=np.float16), (4, 1))
    a, b = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float16)
    with triton.engine(engine, check_bounds=True, target="cuda:sm_90a" if engine == "simulate" else None):
        corners_kernel[(1,)](x, y, a, b, 16, columns, BLOCK=16, num_warps=2)  # on a GPU, through tensor maps
    expected = np.where(np.arange(16) < columns, 4 * np.eye(16), 0)
    np.testing.assert_array_equal(a, expected)
    np.testing.assert_array_equal(b, expected)
