"""tl.device_print on CPUs: tiles are printed as aligned numbers, and programs separately."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def print_numbers(x_ptr, value, N: tl.constexpr):
    tl.device_print("x", tl.load(x_ptr + tl.arange(0, N)))
    tl.device_print("value", value)


@pytest.mark.parametrize("numbers, text", [
    ([1, -10, 100, 0], "[   1.0000,  -10.0000,  100.0000,    0.0000]"),  # a column for the sign, though the longest has none
    ([1, 1e7, -2.5e-9, 0], "[ 1.0000e+00,  1.0000e+07, -2.5000e-09,  0.0000e+00]"),
    ([1, float("inf"), float("nan"), -float("inf")], "[ 1.0000,     inf,     nan,    -inf]"),
])
def test_floats(capfd, numbers, text):
    print_numbers[(1,)](np.array(numbers, np.float32), 2.5, N=4)
    assert capfd.readouterr().out == f"(0, 0, 0) x: {text}\n(0, 0, 0) value: 2.500000\n"


def test_integers_of_each_width(capfd):
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        bounds = np.iinfo(dtype)
        print_numbers[(1,)](np.array([bounds.min, bounds.max], dtype), 0, N=2)
        width = len(str(bounds.max)) + (bounds.min < 0)
        assert capfd.readouterr().out.splitlines()[0] == f"(0, 0, 0) x: [{bounds.min:{width}}, {bounds.max:{width}}]"


def test_programs_do_not_mix(capfd):
    print_numbers[(64,)](np.arange(64, dtype=np.int32), 1, N=64)
    out = capfd.readouterr().out
    for program in range(64):
        start = f"({program}, 0, 0) x: ["
        rows = [", ".join(f"{i + j:2}" for j in range(8)) for i in range(0, 64, 8)]
        assert start + (",\n" + " " * len(start)).join(rows) + "]\n" in out and f"({program}, 0, 0) value: 1\n" in out
