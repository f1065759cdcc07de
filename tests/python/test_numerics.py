"""The release whose rules hold (TILEWRIGHT_TRITON_VERSION) and numerics=: what they change in code and in numbers, and who outweighs whom."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def line(x_ptr, out_ptr, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, x * factor - x * x)


@triton.jit
def inexact(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, 1.0 / x + tl.sqrt(x) + tl.rsqrt(x) + tl.exp2(x) + tl.fdiv(x, 3.0))


@triton.jit
def halves(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(out_ptr + at, tl.fdiv(x, x + 1))


@triton.jit
def product(a_ptr, out_ptr):
    at = tl.arange(0, 32)
    where = at[:, None] * 32 + at[None, :]
    a = tl.load(a_ptr + where)
    tl.store(out_ptr + where, tl.dot(a, a))


@pytest.fixture
def numbers():
    return np.random.default_rng(3).uniform(0.5, 4, 64).astype(np.float32)


def ptx(kernel, *args, **options):
    return kernel.warmup(*args, grid=(1,), arch="sm90", **options).asm["ptx"]


def fuses(numbers, **options):
    return "fma.rn.f32" in ptx(line, numbers, numbers, 3.0, BLOCK=64, **options)


def test_fusion(numbers):
    assert fuses(numbers) and fuses(numbers, numerics="3.9")
    assert not fuses(numbers, numerics="3.10") and not fuses(numbers, numerics="strict")


def test_what_a_launch_says_of_fusion_outweighs_numerics(numbers):
    assert fuses(numbers, numerics="3.10", enable_fp_fusion=True) and fuses(numbers, enable_fp_fusion=True, numerics="strict")
    assert not fuses(numbers, numerics="3.9", enable_fp_fusion=False) and not fuses(numbers, enable_fp_fusion=False, numerics="3.9")
    with triton.knobs.language.scope():
        triton.knobs.language.default_fp_fusion = True
        assert fuses(numbers, numerics="3.10") and not fuses(numbers, numerics="strict")


def test_strict_code(numbers):
    loose, strict = (ptx(inexact, numbers, numbers, BLOCK=64, numerics=word) for word in ("3.9", "strict"))
    for word in ("div.full.f32", "sqrt.approx", "rsqrt.approx", "ex2.approx.ftz.f32"):
        assert word in loose, word
        assert word not in strict, word
    assert "div.rn.f32" in strict and "sqrt.rn.f32" in strict


def test_strict_code_of_fp16(numbers):
    text = ptx(halves, numbers.astype(np.float16), numbers.astype(np.float16), BLOCK=64, numerics="strict")
    assert "div.rn.f32" in text and "div.full" not in text


def test_strict_dots():
    a = np.ones((32, 32), np.float32)
    assert "tf32" in ptx(product, a, a) and "tf32" not in ptx(product, a, a, numerics="strict")


@pytest.mark.parametrize("engine", ["cpu", "interpret", "simulate"])
def test_numbers(engine, numbers):
    unfused = numbers * np.float32(3) - numbers * numbers
    fused = (numbers.astype(np.float64) * 3 - (numbers * numbers).astype(np.float64)).astype(np.float32)
    assert (unfused != fused).any()
    with triton.engine(engine):
        for words in ({"numerics": "3.10"}, {"numerics": "strict"}, {"enable_fp_fusion": False}):
            out = np.zeros_like(numbers)
            line[(1,)](numbers, out, 3.0, BLOCK=64, **words)
            np.testing.assert_array_equal(out, unfused)


def test_strict_numbers_on_a_simulated_gpu(numbers):
    out = np.zeros_like(numbers)

    with triton.engine("simulate"):
        quotient[(1,)](numbers, out, BLOCK=64, numerics="strict")
    np.testing.assert_array_equal(out, np.float32(1) / np.sqrt(numbers))


@triton.jit
def quotient(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 1.0 / tl.sqrt(tl.load(x_ptr + at)))


def test_the_option_is_a_part_of_the_key(numbers):
    kernels = [line.warmup(numbers, numbers, 3.0, BLOCK=64, grid=(1,), numerics=word) for word in ("3.9", "3.10", "strict")]
    assert len({kernel.hash for kernel in kernels}) == 3
    assert [kernel.metadata.numerics for kernel in kernels] == ["3.9", "3.10", "strict"]


def test_unknown_words(numbers):
    with pytest.raises(ValueError, match="numerics is '3.9', '3.10' or 'strict', not 'fast'"):
        line[(1,)](numbers, numbers, 3.0, BLOCK=64, numerics="fast")


# ---- the environment

PROGRAM = """
import numpy as np
import tilewright as triton, tilewright.language as tl
import sys; sys.path.insert(0, {folder!r})
from test_numerics import line
x = np.ones(64, np.float32)
print(triton.triton_version, "fma.rn.f32" in line.warmup(x, x, 3.0, BLOCK=64, grid=(1,), arch="sm90").asm["ptx"])
"""


def run(**environment):
    program = PROGRAM.format(folder=os.path.dirname(os.path.abspath(__file__)))
    return subprocess.run([sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("given, version", [("", "3.9.0"), ("3.6", "3.6.0"), ("3.7.1", "3.7.1"), ("3.8.0", "3.8.0"), ("3.9.0", "3.9.0")])
def test_the_version(given, version):
    assert run(TILEWRIGHT_TRITON_VERSION=given).stdout.split() == [version, "True"]


@pytest.mark.parametrize("word, fuses", [("3.9", "True"), ("3.10", "False"), ("strict", "False")])
def test_the_numerics(word, fuses):
    assert run(TILEWRIGHT_NUMERICS=word).stdout.split()[1] == fuses


@pytest.mark.parametrize("variable, word", [("TILEWRIGHT_TRITON_VERSION", "2.0"), ("TILEWRIGHT_NUMERICS", "fast")])
def test_unknown_words_of_the_environment(variable, word):
    done = run(**{variable: word})
    assert done.returncode != 0 and f"'{word}' is not a value of {variable}" in done.stderr


@triton.jit
def row_sums(x_ptr, out_ptr, rows, N: tl.constexpr):
    total = tl.full((), -0.0, tl.float32)
    for row in range(rows):
        total += tl.sum(tl.load(x_ptr + row * N + tl.arange(0, N)))
    tl.store(out_ptr, total)


@pytest.mark.parametrize("engine", ["cpu", "interpret", "simulate"])
def test_strict_sums_of_a_loop_keep_their_order(engine):
    """The sums of the rows are 3e38 and -3e38 by turns. Sums of columns over all rows would overflow. The sum of no rows is the initial value."""
    x, out = np.zeros((4, 256), np.float32), np.ones(1, np.float32)
    x[::2, 0], x[1::2, 100] = 3e38, -3e38
    with triton.engine(engine):
        row_sums[(1,)](x, out, 4, N=256, numerics="strict")
        assert out[0] == 0
        for words in ({}, {"numerics": "strict"}):
            row_sums[(1,)](x, out, 0, N=256, **words)
            assert out[0] == 0 and np.signbit(out[0])
