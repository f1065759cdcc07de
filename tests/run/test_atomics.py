"""Atomic operations: results over many programs, values returned, masks, and a lock between programs."""

import threading

import numpy as np
import pytest

import tilewright
import tilewright as triton
import tilewright.language as tl
from checks import DTYPES, random, wide

PROGRAMS, BLOCK = 64, 32


@triton.jit
def atomic_kernel(x_ptr, out_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    slot = out_ptr + offsets % n
    mask = offsets % 5 != 0
    if OP == "add":
        tl.atomic_add(slot, x, mask=mask)
    elif OP == "max":
        tl.atomic_max(slot, x, mask=mask)
    elif OP == "min":
        tl.atomic_min(slot, x, mask=mask)
    elif OP == "and":
        tl.atomic_and(slot, x, mask=mask)
    elif OP == "or":
        tl.atomic_or(slot, x, mask=mask)
    else:
        tl.atomic_xor(slot, x, mask=mask)


FUNCTIONS = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@pytest.mark.parametrize("op, dtype", [
    *[(op, dtype) for op in FUNCTIONS for dtype in ("int32", "uint32", "int64")],
    *[(op, dtype) for op in ("add", "max", "min") for dtype in ("fp32", "fp64")],
    ("add", "fp16"),
])
def test_operations(op, dtype):
    n = 10
    x = random(PROGRAMS * BLOCK, dtype, 1)
    if op == "add" and not dtype.startswith("fp"):
        x = random(PROGRAMS * BLOCK, dtype, 1, 0, 1000)
    start = random(n, dtype, 2, *((0, 1000) if op == "add" and not dtype.startswith("fp") else ()))
    out = start.copy()
    atomic_kernel[(PROGRAMS,)](x, out, n, OP=op, BLOCK=BLOCK)
    offsets = np.arange(x.size)
    used = offsets % 5 != 0
    expected = wide(start)
    FUNCTIONS[op].at(expected, (offsets % n)[used], wide(x)[used])
    if dtype.startswith("fp") and op == "add":  # in any order: each of 200 additions may round
        tolerance = {"fp16": 0.3, "fp32": 1e-4, "fp64": 1e-12}[dtype]
        np.testing.assert_allclose(wide(out), expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(out, expected.astype(DTYPES[dtype]))


@triton.jit
def ticket_kernel(counter_ptr, seen_ptr):
    ticket = tl.atomic_add(counter_ptr, 1)
    tl.atomic_add(seen_ptr + ticket, 1)


def test_a_scalar_atomic_happens_once_for_each_program():
    counter, seen = np.zeros(1, np.int32), np.zeros(500, np.int32)
    ticket_kernel[(500,)](counter, seen)
    assert counter[0] == 500
    np.testing.assert_array_equal(seen, 1)


@triton.jit
def exchange_kernel(x_ptr, old_ptr, swapped_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(old_ptr + offsets, tl.atomic_xchg(x_ptr + offsets, offsets))
    expected = tl.where(offsets % 2 == 0, offsets, -1)
    tl.store(swapped_ptr + offsets, tl.atomic_cas(x_ptr + offsets, expected, offsets * 100))


def test_exchange_and_compare():
    x = random(64, "int32", 1)
    before = x.copy()
    old, swapped = np.zeros_like(x), np.zeros_like(x)
    exchange_kernel[(1,)](x, old, swapped, BLOCK=64)
    lanes = np.arange(64)
    np.testing.assert_array_equal(old, before)
    np.testing.assert_array_equal(swapped, lanes)
    np.testing.assert_array_equal(x, np.where(lanes % 2 == 0, lanes * 100, lanes))


@triton.jit
def locked_kernel(lock_ptr, total_ptr, x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + offsets)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(total_ptr + offsets, tl.load(total_ptr + offsets) + x)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_a_lock_between_programs():
    x = random((200, 32), "int32", 1, -1000, 1000)
    lock, total = np.zeros(1, np.int32), np.zeros(32, np.int32)
    locked_kernel[(200,)](lock, total, x, BLOCK=32)
    np.testing.assert_array_equal(total, x.sum(0))
    assert lock[0] == 0


@triton.jit
def first_stores_kernel(lock_ptr, total_ptr, x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + tl.program_id(0) * n + offsets, mask=mask, other=0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(lock_ptr + 1) == 0:
        tl.atomic_xchg(lock_ptr + 1, 1)
    else:
        x += tl.load(total_ptr + offsets, mask=mask, other=0)
    tl.store(total_ptr + offsets, x, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


def test_the_first_with_a_lock_stores_and_later_ones_add():
    x = random((50, 100), "int32", 1, -1000, 1000)
    lock, total = np.zeros(2, np.int32), np.full(100, 12345, np.int32)
    first_stores_kernel[(50,)](lock, total, x, 100, BLOCK=128)
    np.testing.assert_array_equal(total, x.sum(0))
    assert list(lock) == [0, 1]


@triton.jit
def descriptor_atomic_kernel(x_ptr, out_ptr, OP: tl.constexpr):
    block = tl.make_tensor_descriptor(out_ptr, shape=[8, 32], strides=[32, 1], block_shape=[8, 32])
    x = tl.load(x_ptr + tl.arange(0, 8)[:, None] * 32 + tl.arange(0, 32)[None, :])
    if OP == "max":
        block.atomic_max([0, 0], x)
    elif OP == "min":
        block.atomic_min([0, 0], x)
    elif OP == "and":
        block.atomic_and([0, 0], x)
    elif OP == "or":
        block.atomic_or([0, 0], x)
    elif OP == "xor":
        block.atomic_xor([0, 0], x)
    else:
        block.atomic_add([0, 0], x)


@pytest.mark.parametrize("op, dtype", [(op, dtype) for op in ("max", "min", "add") for dtype in ("int32", "uint32", "int64", "uint64")
                                       if (op, dtype) != ("add", "int64")])  # TMA adds 64-bit integers only as unsigned ones
def test_a_descriptor_compares_unsigned_elements_as_such(op, dtype):
    rng, bounds = np.random.default_rng(0), np.iinfo(dtype)
    x, out = (rng.integers(bounds.min, bounds.max, (8, 32), dtype) for _ in "ab")
    expected = FUNCTIONS[op](out, x)
    descriptor_atomic_kernel[(1,)](x, out, OP=op)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("op, function", [("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)])
def test_a_descriptor_combines_bits(op, function):
    rng = np.random.default_rng(0)
    x, out = (rng.integers(0, 2**31, (8, 32), dtype=np.int32) for _ in "ab")
    expected = function(out, x)
    descriptor_atomic_kernel[(1,)](x, out, OP=op)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def overlapping_kernel(x_ptr, out_ptr, rows, columns, steps, STEP: tl.constexpr, OP: tl.constexpr):
    block = tl.make_tensor_descriptor(out_ptr, shape=[rows, columns], strides=[columns, 1], block_shape=[32, 64])
    at = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
    for step in range(steps):
        x = tl.load(x_ptr + (tl.program_id(0) * steps + step) * 2048 + at)
        if OP == "max":
            block.atomic_max([tl.program_id(0) * STEP, step * 48], x)
        else:
            block.atomic_add([tl.program_id(0) * STEP, step * 48], x)


@pytest.mark.parametrize("op, dtype", [("add", "float32"), ("add", "int32"), ("max", "int32"), ("max", "uint64"), ("add", "float16")])
@pytest.mark.parametrize("rows, columns, programs, steps, step", [(64, 128, 1, 1, 8), (100, 112, 4, 3, 16), (77, 200, 5, 4, 8), (31, 64, 7, 2, 0)])
def test_tiles_of_a_descriptor_overlap(op, dtype, rows, columns, programs, steps, step):
    """Tiles of other programs and iterations overlap, and tiles cross the tensor's bounds."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 50, (programs, steps, 32, 64)).astype(dtype)
    out = rng.integers(0, 50, (rows, columns)).astype(dtype)
    expected = out.copy()
    for program in range(programs):
        for number in range(steps):
            part = expected[program * step : program * step + 32, number * 48 : number * 48 + 64]
            part[:] = FUNCTIONS[op](part, x[program, number][: part.shape[0], : part.shape[1]])
    overlapping_kernel[(programs,)](x, out, rows, columns, steps, STEP=step, OP=op)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_descriptor_compares_halves(op, dtype):
    """All combinations of signs, and both infinities."""
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=12), [0.0, 1.0, np.inf, -np.inf]]).astype(np.float32)
    old, new = (np.ascontiguousarray(v).astype(np.float16).astype(np.float32) for v in (np.repeat(values, 16), np.tile(values, 16)))
    if dtype == "bfloat16":
        narrow = lambda v: (v.view(np.uint32) >> 16).astype(np.uint16)
        wide = lambda v: (v.astype(np.uint32) << 16).view(np.float32)
        x, out = (triton.reinterpret(narrow(v).reshape(8, 32), tl.bfloat16) for v in (new, old))
        expected = FUNCTIONS[op](wide(narrow(old)), wide(narrow(new)))
        descriptor_atomic_kernel[(1,)](x, out, OP=op)
        got = wide(out.base.reshape(-1))
    else:
        x, out = (v.astype(np.float16).reshape(8, 32) for v in (new, old))
        expected = FUNCTIONS[op](old, new)
        descriptor_atomic_kernel[(1,)](x, out, OP=op)
        got = out.reshape(-1).astype(np.float32)
    np.testing.assert_array_equal(got, expected)


@triton.jit
def poll_kernel(flag_ptr, data_ptr, out_ptr):
    pid = tl.program_id(0)
    if pid == 1:
        matched = tl.atomic_poll(flag_ptr, 7)
        tl.store(out_ptr, tl.load(data_ptr))
        tl.store(out_ptr + 1, matched.to(tl.int32))
    else:
        tl.store(data_ptr, 42)
        tl.atomic_xchg(flag_ptr, 7, sem="release")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_poll(dtype):
    flag, data, out = np.zeros(1, DTYPES[dtype]), np.zeros(1, np.int32), np.zeros(2, np.int32)
    poll_kernel[(2, )](flag, data, out)
    np.testing.assert_array_equal(out, [42, 1])
    assert flag[0] == 7


@triton.jit
def wrong_poll_kernel(flag_ptr):
    tl.atomic_poll(flag_ptr, 1, sem="release")


def test_poll_refusals():
    with pytest.raises(triton.CompilationError, match="its order is 'acquire' or 'relaxed'"):
        wrong_poll_kernel[(1, )](np.zeros(1, np.int32))


@triton.jit
def poll_tile_kernel(flags_ptr, data_ptr, out_ptr, BLOCK: tl.constexpr):
    pid, offsets = tl.program_id(0), tl.arange(0, BLOCK)
    if pid == BLOCK:
        found = (flags_ptr + offsets).atomic_poll(7, scope="gpu")
        tl.store(out_ptr + offsets, tl.load(data_ptr + offsets) + found.to(tl.int32))
    else:
        tl.store(data_ptr + pid, 10 * pid)
        tl.atomic_store(flags_ptr + pid, 7)


def test_poll_of_a_tile():
    """The last program continues when all others have stored."""
    flags, data, out = np.zeros(16, np.int32), np.zeros(16, np.int32), np.zeros(16, np.int32)
    poll_tile_kernel[(17, )](flags, data, out, BLOCK=16)
    np.testing.assert_array_equal(out, 10 * np.arange(16) + 1)


@triton.jit
def load_store_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.atomic_load(x_ptr + offsets, mask=offsets < BLOCK - 2)
    x = tl.where(offsets < BLOCK - 2, x, 0)
    tl.atomic_store(out_ptr + offsets, x + 1, mask=offsets < BLOCK - 3, sem="relaxed", scope="sys")
    (out_ptr + BLOCK - 1).atomic_store((x_ptr + 5).atomic_load(sem="relaxed", scope="cta"))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "fp32", "fp64"])
def test_atomic_loads_and_stores(dtype):
    x = random((32, ), dtype, 1, -100, 100) if dtype != "uint32" else random((32, ), dtype, 1, 0, 100)
    out = np.zeros_like(x)
    load_store_kernel[(1, )](x, out, BLOCK=32)
    expected = x + x.dtype.type(1)
    expected[29:31], expected[31] = 0, x[5]
    np.testing.assert_array_equal(out, expected)


@triton.jit
def wrong_order_kernel(x_ptr, LOADS: tl.constexpr):
    if LOADS:
        tl.atomic_load(x_ptr, sem="release")
    else:
        tl.atomic_store(x_ptr, 1, sem="acq_rel")


def test_refusals_of_atomic_loads_and_stores():
    with pytest.raises(triton.CompilationError, match="atomic_load only reads"):
        wrong_order_kernel[(1, )](np.zeros(1, np.int32), True)
    with pytest.raises(triton.CompilationError, match="atomic_store only writes"):
        wrong_order_kernel[(1, )](np.zeros(1, np.int32), False)
    with pytest.raises(triton.CompilationError, match="integers or floats of 32 or 64 bits"):
        load_store_kernel[(1, )](np.zeros(32, np.int16), np.zeros(32, np.int16), BLOCK=32)


@triton.jit
def count_kernel(out_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + offsets % n, 1)
    tl.atomic_add(sums_ptr + offsets % n, 0.5)


def test_launches_of_several_threads_add_to_the_same_places(engine):
    """Each launch has one worker, and would run alone if no other did."""
    if engine == "cuda":
        pytest.skip("arrays of the host are copied to a GPU and back, by each thread")
    threads, launches, programs, n = 3, 20, 16, 8
    out, sums = np.zeros(n, np.int32), np.zeros(n, np.float32)
    launch = lambda: [count_kernel[(programs,)](out, sums, n, BLOCK=BLOCK, num_threads=1) for _ in range(launches)]
    with tilewright.engine("cpu"):
        launch()
        running = [threading.Thread(target=launch) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    expected = (threads + 1) * launches * programs * BLOCK // n
    assert (out == expected).all() and (sums == expected / 2).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_both_ways_of_adding(threads):
    """The first launches run alone; afterwards, both ways have been tried."""
    n = 64
    out, sums = np.zeros(n, np.int32), np.zeros(n, np.float32)
    for launch in range(1, 7):
        count_kernel[(64,)](out, sums, n, BLOCK=BLOCK, num_threads=threads)
        assert (out == launch * 64 * BLOCK // n).all() and (sums == launch * 32 * BLOCK // n).all()
