"""tl.device_print and tl.device_assert."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def print_kernel(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.device_print("x", x, offsets[:, None] - tl.arange(0, 2)[None, :])
    tl.device_print("bits", x.to(tl.float16), hex=True)
    tl.device_print("small", offsets.to(tl.int8) - 3)
    tl.device_print("program", tl.program_id(1))
    tl.device_print("done")


def as_lines(y, threads):
    """The output of one program on the interpreter and on GPUs: a line for each element. Each thread prints scalars."""
    pid = f"pid (0, {y}, 0)"
    lines = [f"{pid} idx ({i:2}) x: (operand 0) {i / 2:.6f}" for i in range(16)]
    lines += [f"{pid} idx ({i:2}, {j}) x: (operand 1) {i - j}" for i in range(16) for j in range(2)]
    lines += [f"{pid} idx ({i:2}) bits: 0x{int(np.float16(i / 2).view(np.uint16)):04x}" for i in range(16)]
    lines += [f"{pid} idx ({i:2}) small: {i - 3}" for i in range(16)]
    return lines + [f"{pid} idx () program: {y}"] * threads + [f"{pid} done"] * threads


def as_tiles(y):
    """The output of one program on CPUs."""
    rows = ",\n              ".join(f"[{i:3}, {i - 1:3}]" for i in range(16))
    return f"""\
(0, {y}, 0) x: [0.0000, 0.5000, 1.0000, 1.5000, 2.0000, 2.5000, 3.0000, 3.5000,
              4.0000, 4.5000, 5.0000, 5.5000, 6.0000, 6.5000, 7.0000, 7.5000]
(0, {y}, 0) x: [{rows}]
(0, {y}, 0) bits: [0x0000, 0x3800, 0x3c00, 0x3e00, 0x4000, 0x4100, 0x4200, 0x4300,
                 0x4400, 0x4480, 0x4500, 0x4580, 0x4600, 0x4680, 0x4700, 0x4780]
(0, {y}, 0) small: [ -3,  -2,  -1,   0,   1,   2,   3,   4,
                    5,   6,   7,   8,   9,  10,  11,  12]
(0, {y}, 0) program: {y}
(0, {y}, 0) done""".replace("\n ", "\r ").split("\n")


def test_lines(capfd, engine):
    print_kernel[(1, 2)](np.arange(16, dtype=np.float32) / 2, N=16)
    lines = capfd.readouterr().out.rstrip("\n").replace("\n ", "\r ").split("\n")  # the lines of a tile are joined
    expected = [as_tiles(y) if engine == "cpu" else as_lines(y, 1 if engine == "interpret" else 128) for y in range(2)]
    assert sorted(lines) == sorted(expected[0] + expected[1])
    for y in range(2 if engine in ("cpu", "interpret") else 0):  # programs may run at the same time, and each prints in order; so do warps
        assert [line for line in lines if f"(0, {y}, 0)" in line] == expected[y]


@triton.jit
def assert_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.device_assert(x < 21, "x is large")
    tl.store(out_ptr + offsets, x)


@pytest.mark.without_debug
def test_a_failed_assertion_ends_its_program_and_the_launch(engine):
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    if engine == "cuda":  # the driver prints the place, and this process cannot launch again
        with pytest.raises(Exception, match="device-side assert|CUDA_ERROR_ASSERT"):
            assert_kernel[(4,)](x, out, N=8, debug=True)
        return
    place = r"program \(2, 0, 0\): device-side assertion failed at element \(5\)"
    if engine == "simulate":
        place = r"CTA \(2, 0, 0\), warp \d, lane 5: ptx.assert_fail: device-side assertion failed"
    with pytest.raises(Exception, match=r"test_print.py:\d+:\d+: " + place + ": x is large"):
        assert_kernel[(4,)](x, out, N=8, debug=True, num_threads=1)  # two programs fail: the first one is named
    assert not out[16:24].any()
    # The next launch is not affected, and without debug there is no check.
    assert_kernel[(2,)](x, out, N=8, debug=True)
    np.testing.assert_array_equal(out[:16], x[:16])
    assert_kernel[(4,)](x, out, N=8)
    np.testing.assert_array_equal(out, x)
