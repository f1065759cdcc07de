"""The simulator's orders: each launch of a kernel has another one, and a program that runs again repeats them."""

import re
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

PROGRAM = """
import numpy as np
import tilewright as triton
import tilewright.language as tl

@triton.jit
def ranks(counter_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.atomic_add(counter_ptr + at * 0, 1))

with triton.engine("simulate", target="cuda:sm_90a"):
    for launch in range(6):
        out = np.zeros(256, np.int32)
        ranks[(1,)](np.zeros(1, np.int32), out, BLOCK=256)
        print(",".join(str(i // 32) for i in out[::32]))
"""


def orders(tmp_path, monkeypatch, seed=None):
    """The order of the warps in each of six launches."""
    (tmp_path / "ranks.py").write_text(PROGRAM)
    monkeypatch.delenv("TILEWRIGHT_SIMULATE_SEED", raising=False)
    if seed is not None:
        monkeypatch.setenv("TILEWRIGHT_SIMULATE_SEED", seed)
    done = subprocess.run([sys.executable, tmp_path / "ranks.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_launches_have_orders_of_their_own(tmp_path, monkeypatch):
    first = orders(tmp_path, monkeypatch)
    assert len(first) == 6 and len(set(first)) > 3
    assert orders(tmp_path, monkeypatch) == first
    fixed = orders(tmp_path, monkeypatch, "7")
    assert len(set(fixed)) == 1 and orders(tmp_path, monkeypatch, "8")[0] != fixed[0]


@triton.jit
def beyond(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK) * 2, 1)


def test_errors_name_their_order(monkeypatch):
    def message():
        with triton.engine("simulate", check_bounds=True), pytest.raises(Exception) as error:
            beyond[(1,)](np.zeros(256, np.int32), BLOCK=256)
        return str(error.value)

    monkeypatch.delenv("TILEWRIGHT_SIMULATE_SEED", raising=False)
    first, second = (re.search(r"\[TILEWRIGHT_SIMULATE_SEED=(\d+)\]", message()).group(1) for _ in range(2))
    assert first != second
    monkeypatch.setenv("TILEWRIGHT_SIMULATE_SEED", first)
    assert f"[TILEWRIGHT_SIMULATE_SEED={first}]" in message()
    monkeypatch.setenv("TILEWRIGHT_SIMULATE_SEED", "some")
    assert "TILEWRIGHT_SIMULATE_SEED is 'some'; it may be an integer from 0 to 4294967295" in message()
