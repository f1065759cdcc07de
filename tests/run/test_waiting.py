"""Programs that wait for an earlier program's store without an atomic operation: volatile loads are repeated each time."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def one_after_another_kernel(x_ptr, flag_ptr, out_ptr, turns, HOW: tl.constexpr):
    if tl.program_id(0) == 0:
        last = tl.zeros([16], tl.int32)
        for i in range(turns):
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
            while tl.sum(tl.load(flag_ptr + 31 - rows, mask=rows < turns, other=0, volatile=True)) == 0:
                pass
        tl.store(out_ptr, tl.load(x_ptr))
        tl.store(out_ptr + 1, before)


@pytest.mark.without_debug
@pytest.mark.unchecked  # a plain store and loads, which the sanitizer reports as a race
@pytest.mark.parametrize("how", ["scalar", "uncached", "tile", "masked"])
def test_a_program_waits_for_a_store(how, engine):
    turns = 4_000_000 if engine == "cpu" else 20
    x = np.ones(16, np.int32)
    x[0] = 3
    flag, out = np.zeros(32, np.int32), np.zeros(2, np.int32)
    one_after_another_kernel[(2,)](x, flag, out, turns, HOW=how, num_threads=2)
    assert flag[0] == 1
    if engine != "cuda":  # plain stores and loads on two multiprocessors have no order
        assert out[0] == x[0]
