"""Programs that wait for an earlier program's store without an atomic operation: volatile loads are repeated each time."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def one_after_another_kernel(x_ptr, flag_ptr, out_ptr, iterations, HOW: tl.constexpr):
    if tl.program_id(0) == 0:
        last = tl.zeros([16], tl.int32)
        for i in range(iterations):
            last = last * 3 + tl.load(x_ptr + tl.arange(0, 16))
        tl.store(x_ptr, tl.sum(last))
        if HOW == "masked":
            tl.store(flag_ptr + tl.arange(0, 32), tl.full([32], 1, tl.int32))
        else:
            tl.store(flag_ptr, 1)
    else:
        before = tl.load(x_ptr)
        if HOW == "scalar":
            while tl.load(flag_ptr, volatile=True) == 0:
                pass
        elif HOW == "uncached":
            while tl.load(flag_ptr, cache_modifier=".cv") == 0:
                pass
        elif HOW == "tile":
            while tl.sum(tl.load(flag_ptr + tl.arange(0, 32), volatile=True)) == 0:
                pass
        else:
            rows = tl.arange(0, 32)
            while tl.sum(tl.load(flag_ptr + 31 - rows, mask=rows < iterations, other=0, volatile=True)) == 0:
                pass
        tl.store(out_ptr, tl.load(x_ptr))
        tl.store(out_ptr + 1, before)


@pytest.mark.without_debug
@pytest.mark.unchecked  # a plain store and loads, which the sanitizer reports as a race
@pytest.mark.parametrize("how", ["scalar", "uncached", "tile", "masked"])
def test_a_program_waits_for_a_store(how, engine):
    iterations = 4_000_000 if engine == "cpu" else 20
    x = np.ones(16, np.int32)
    x[0] = 3
    flag, out = np.zeros(32, np.int32), np.zeros(2, np.int32)
    one_after_another_kernel[(2,)](x, flag, out, iterations, HOW=how, num_threads=2)
    assert flag[0] == 1
    if engine != "cuda":  # plain stores and loads on two multiprocessors have no order
        assert out[0] == x[0]


@triton.jit
def lookback_kernel(x_ptr, state_ptr, out_ptr, SIZE: tl.constexpr, HOW: tl.constexpr):
    """An inclusive scan. A program adds what those before it publish: 2 * sum + 1 of its own elements, then 2 * (sum of all so far) + 2**20."""
    pid = tl.program_id(0)
    x = tl.load(x_ptr + pid * SIZE + tl.arange(0, SIZE))
    own = tl.sum(x)
    tl.store(state_ptr + pid, tl.where(pid == 0, 2 * own + 2**20, 2 * own + 1))
    before = 0
    at = pid - 1
    while at >= 0:
        if HOW == "scalar":
            seen = tl.load(state_ptr + at, volatile=True)
        elif HOW == "uncached":
            seen = tl.load(state_ptr + at, cache_modifier=".cv")
        elif HOW == "masked":
            seen = tl.load(state_ptr + at, mask=at >= 0, other=2**20, volatile=True)
        else:  # each warp holds the tile
            index = tl.arange(0, 4)
            seen = tl.sum(tl.load(state_ptr + at - index, mask=index == 0, other=0, volatile=True))
        ready = seen != 0
        whole = seen >= 2**20
        before += tl.where(ready, (seen & (2**20 - 1)) // 2, 0)
        at = tl.where(whole, -1, tl.where(ready, at - 1, at))
    if pid > 0:
        tl.store(state_ptr + pid, 2 * (before + own) + 2**20)
    tl.store(out_ptr + pid * SIZE + tl.arange(0, SIZE), tl.cumsum(x) + before)


@pytest.mark.without_debug
@pytest.mark.unchecked
@pytest.mark.parametrize("how", ["scalar", "uncached", "masked", "tile"])
def test_threads_of_a_program_see_one_value(how, engine):
    programs, size = 24, 64
    x = np.random.default_rng(0).integers(0, 9, programs * size).astype(np.int32)
    state, out = np.zeros(programs, np.int32), np.zeros_like(x)
    lookback_kernel[(programs,)](x, state, out, SIZE=size, HOW=how, num_warps=4)
    np.testing.assert_array_equal(out, np.cumsum(x))


@triton.jit
def branches_kernel(flag_ptr, x_ptr, out_ptr, SIZE: tl.constexpr):
    """The next program stores to the flag before or after this one loads it. Either way all threads of this one take the same branch."""
    pid = tl.program_id(0)
    index = tl.arange(0, SIZE)
    x = tl.load(x_ptr + index)
    seen = tl.load(flag_ptr + pid + 1, volatile=True)
    tl.store(flag_ptr + pid, 1)
    if seen == 0:
        result = tl.cumsum(x)
    else:
        result = tl.cumsum(tl.flip(x))
    tl.store(out_ptr + pid * SIZE + index, result)


@pytest.mark.without_debug
@pytest.mark.unchecked
def test_a_program_takes_one_branch(engine):
    programs, size = 64, 128
    x = np.random.default_rng(0).integers(0, 9, size).astype(np.int32)
    flags, out = np.zeros(programs + 1, np.int32), np.zeros((programs, size), np.int32)
    branches_kernel[(programs,)](flags, x, out, SIZE=size, num_warps=4)
    for row in out:
        assert np.array_equal(row, np.cumsum(x)) or np.array_equal(row, np.cumsum(x[::-1]))


@triton.jit
def chain_kernel(flag_ptr, out_ptr, x_ptr, SIZE: tl.constexpr):
    pid = tl.program_id(0)
    own = tl.sum(tl.load(x_ptr + tl.arange(0, SIZE)))
    if pid > 0:
        while tl.sum(tl.load(flag_ptr + pid - 1 + tl.arange(0, 1), volatile=True)) == 0:
            pass
    tl.atomic_xchg(out_ptr, tl.atomic_add(out_ptr, 0) + own)
    tl.atomic_xchg(flag_ptr + pid, 1)


@pytest.mark.without_debug
@pytest.mark.unchecked
@pytest.mark.parametrize("warps", [2, 4, 8])
def test_programs_wait_for_the_program_before(warps, engine):
    programs = 40
    x = np.arange(256, dtype=np.int32)
    flags, out = np.zeros(programs, np.int32), np.zeros(1, np.int32)
    chain_kernel[(programs,)](flags, out, x, SIZE=256, num_warps=warps)
    assert out[0] == programs * x.sum()
