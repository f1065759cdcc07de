"""Differences of indices in which equal terms meet: what cancels only while a remainder does not wrap around, or no integer overflows, is not
the same for all elements of a tile."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

FORMS = ["start of a group", "two remainders", "quotient of a start", "from a quotient", "narrow", "widened"]


@triton.jit
def difference(i, d, e, form: tl.constexpr):
    if form == "start of a group":
        return i - i % d
    elif form == "two remainders":
        return i % d - i % e
    elif form == "quotient of a start":
        return (i - i % d) // e
    elif form == "from a quotient":
        return i - (i // d) * d
    elif form == "narrow":
        return i - (i * d).to(tl.int8)
    else:
        return (((i + 2147483640).to(tl.int64) - i.to(tl.int64)) >> 32).to(tl.int32) + 2


def expected(i, d, e, form):
    return {"start of a group": i - i % d, "two remainders": i % d - i % e, "quotient of a start": (i - i % d) // e, "from a quotient": i % d,
            "narrow": i - (i * d).astype(np.int8), "widened": (((i + 2147483640 + 2**31) % 2**32 - 2**31 - i) >> 32) + 2}[form]


@triton.jit
def uses(x, loaded, chosen, converted, times, absolute, total, masked, d, e, form: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    at = difference(i, d, e, form)
    tl.store(loaded + i, tl.load(x + at + 3 * N))
    tl.store(chosen + i, tl.where(at != 4, i, -i))
    tl.store(converted + i, at.to(tl.float32))
    tl.store(times + i, at * d)
    tl.store(absolute + i, tl.abs(at) ^ (at >> 1))
    tl.store(total, tl.sum(at, 0))
    tl.store(masked + i, i, mask=(at != 4) & (at != 0))


@pytest.mark.without_debug
@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize("d, e", [(8, 3), (3, 8), (64, 5), (7, 64), (1, 2)])
@pytest.mark.parametrize("form", FORMS)
def test_a_difference_is_used(form, d, e, constants):
    N = 64
    i, x = np.arange(N), np.arange(8 * N, dtype=np.float32)
    at = expected(i, d, e, form)
    outs = {"loaded": x[at + 3 * N], "chosen": np.where(at != 4, i, -i).astype(np.int32), "converted": at.astype(np.float32), "times": (at * d).astype(np.int32),
            "absolute": (np.abs(at) ^ (at >> 1)).astype(np.int32), "total": np.array([at.sum()], np.int32),
            "masked": np.where((at != 4) & (at != 0), i, -1).astype(np.int32)}
    found = {name: np.full_like(value, -1) for name, value in outs.items()}
    kernel = uses_of_constants if constants else uses
    kernel[(1,)](x, *found.values(), d, e, form, N)
    for name, value in outs.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


@triton.jit
def uses_of_constants(x, loaded, chosen, converted, times, absolute, total, masked, d: tl.constexpr, e: tl.constexpr, form: tl.constexpr, N: tl.constexpr):
    uses(x, loaded, chosen, converted, times, absolute, total, masked, d, e, form, N)


@triton.jit
def scaled(x, scale, out, GROUP: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) * tl.load(scale + (i - i % GROUP) // GROUP))


@pytest.mark.parametrize("group", [4, 32, 64])
def test_a_scale_for_each_group(group):
    x, scale, out = np.arange(192, dtype=np.float32), np.arange(1, 193, dtype=np.float32), np.zeros(192, np.float32)
    scaled[(3,)](x, scale, out, group, 64)
    np.testing.assert_array_equal(out, x * scale[np.arange(192) // group])


@triton.jit
def of_rows(x, out, start, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, tl.load(x + (j + start) % (N - 4 * i)))


@pytest.mark.parametrize("start", [0, 1, 40])
def test_a_divisor_of_its_own_for_each_row(start):
    M, N = 8, 64
    x, out = np.arange(N, dtype=np.float32), np.zeros((M, N), np.float32)
    of_rows[(1,)](x, out, start, M, N)
    i, j = np.arange(M)[:, None], np.arange(N)[None, :]
    np.testing.assert_array_equal(out, x[(j + start) % (N - 4 * i)])


@triton.jit
def multiplied_indices(x, out, start, step, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, tl.load(x + ((i * j * step + start).to(tl.int64) + 4294967296) % 97))


@pytest.mark.without_debug
@pytest.mark.parametrize("start, step", [(0, 1), (2**31 - 40, 1), (2**31 - 10, -1), (-(2**31), 3), (2**31 - 1, 65536)])
def test_a_row_moves_by_its_own_step(start, step):
    M, N = 8, 16
    x, out = np.arange(97, dtype=np.float32), np.zeros((M, N), np.float32)
    multiplied_indices[(1,)](x, out, start, step, M, N)
    i, j = np.arange(M)[:, None], np.arange(N)[None, :]
    narrow = (i * j * step + start + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(out, x[(narrow + 2**32) % 97])


@triton.jit
def overlapping(x, y, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(y + i * N + j, tl.load(x + i * j) + 1)


@pytest.mark.unchecked
@pytest.mark.parametrize("shift", [0, 1, 5, 40, 200])
def test_what_is_stored_is_not_loaded_where_rows_have_their_own_steps(shift):
    M, N = 8, 16
    memory = np.arange(400, dtype=np.float32)
    i, j = np.arange(M)[:, None], np.arange(N)[None, :]
    wanted = memory.copy()
    wanted[shift:shift + M * N] = (memory[(i * j).ravel()] + 1)
    overlapping[(1,)](memory[:200], memory[shift:], M, N)
    np.testing.assert_array_equal(memory, wanted)


@triton.jit
def narrow_rows(x, out, start, step, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    row = (i * step).to(tl.int16).to(tl.int32)
    tl.store(out + i * N + j, tl.load(x + ((row + start + j).to(tl.int64) + 8589934592) % 97))


@pytest.mark.without_debug
@pytest.mark.parametrize("start, step", [(0, 1), (-(2**31) + 2, 9000), (2**31 - 30000, 9000), (2**31 - 70, 3)])
def test_rows_of_narrow_integers_that_overflow(start, step):
    M, N = 8, 16
    x, out = np.arange(97, dtype=np.float32), np.zeros((M, N), np.float32)
    narrow_rows[(1,)](x, out, start, step, M, N)
    i, j = np.arange(M)[:, None], np.arange(N)[None, :]
    narrow = ((i * step).astype(np.int16).astype(np.int64) + start + j + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(out, x[(narrow + 2**33) % 97])


@triton.jit
def stored_kernel(x_ptr, out_ptr, other_ptr, n, m, HOW: tl.constexpr):
    """A difference that is in memory of its own when the second store's mask needs it: nothing tests there whether it is 0 everywhere."""
    column = tl.arange(0, 4)[None, :]
    i = tl.arange(0, 16)[:, None] * 4 + column
    d = i % n - i % m
    tl.store(out_ptr + i, d)
    x = tl.load(x_ptr + tl.broadcast_to(column * 0, (16, 4)))
    if HOW == "mask":
        tl.store(other_ptr + i, x, mask=d > 0)
    elif HOW == "where":
        tl.store(other_ptr + i, tl.where(d > 0, x, 3))
    elif HOW == "value":
        tl.store(other_ptr + i, d + x)
    else:
        tl.store(other_ptr + i + d, x, mask=d == 0)


@pytest.mark.parametrize("n, m", [(3, 8), (8, 3), (100, 2), (5, 6), (64, 64), (1, 1), (4, 16)])
@pytest.mark.parametrize("how", ["mask", "where", "value", "address"])
def test_a_difference_that_is_in_memory_already(how, n, m):
    x, out, other = np.full(4, 7, np.int32), np.zeros(64, np.int32), np.full(64, -9, np.int32)
    stored_kernel[(1,)](x, out, other, n, m, HOW=how)
    i = np.arange(64)
    d = i % n - i % m
    np.testing.assert_array_equal(out, d)
    expected = {"mask": np.where(d > 0, 7, -9), "where": np.where(d > 0, 7, 3), "value": d + 7, "address": np.where(d == 0, 7, -9)}[how]
    np.testing.assert_array_equal(other, expected)
