"""Conversions of 16-bit floats on CPUs without instructions for them: the object has them, and each value is right."""

import ctypes
import subprocess

import numpy as np
import pytest

from test_build import build, command, launch, pointer, runtime

CONVERT = """import triton
import triton.language as tl

@triton.jit
def scale(x, out, n):
    i = tl.program_id(0)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))

@triton.jit
def add(x, out, n):
    tl.atomic_add(out + tl.program_id(0), tl.load(x + tl.program_id(0)))

@triton.jit
def masked(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + i, value + value, mask=i < n)

@triton.jit
def extremes(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(out, tl.max(value, 0))
    tl.store(out + 1, tl.sum(value, 0).to(out.dtype.element_ty))
    tl.store(out + i + 2, tl.cumsum(value) % 5, mask=i < n)
"""
SIGNATURES = {"scale": "*fp32, *{0}, i32", "add": "*{0}, *{0}, i32", "masked": "*{0}, *{0}, i32, BLOCK=64", "extremes": "*{0}, *{0}, i32, BLOCK=64"}


@pytest.mark.parametrize("target", ["cpu:sse2", "cpu:avx2", "cpu:avx512", "cpu:avx512-dot", "cpu:neon", "cpu:sve"])
def test_objects_need_only_the_c_library(target, tmp_path):
    (tmp_path / "convert.py").write_text(CONVERT)
    for kernel, signature in SIGNATURES.items():
        for element in ("bf16", "fp16", "fp8e5", "fp8e4nv"):
            if kernel == "add" and element.startswith("fp8"):
                continue  # fp8 has no atomics
            words = ["--kernel", kernel, "--signature", signature.format(element), "--target", target, "--emit", "obj", "-o", tmp_path / "object.o"]
            command("compile", tmp_path / "convert.py", *words)
            names = subprocess.run(["nm", "-u", tmp_path / "object.o"], capture_output=True, text=True, check=True).stdout.split()
            assert [name for name in names if name.startswith("_") and not name.startswith("_ZGV")] == [], (kernel, element)


def bfloat_bits(values):
    """The nearest bfloat16 of each float, ties to even."""
    words = values.view(np.uint32).astype(np.uint64)
    rounded = (words + 0x7fff + (words >> 16 & 1)) >> 16
    return np.where(np.isnan(values), words >> 16 | 0x40, rounded).astype(np.uint16)


def floats_near(widened):
    """Each value, the middle between it and the next one, and their neighbors."""
    words = widened.view(np.uint32)
    steps = np.unique(np.abs(np.diff(np.sort(words[np.isfinite(widened) & (widened > 0)]).astype(np.int64))))
    near = [words + np.uint32(half) for step in steps for half in (step // 2 - 1, step // 2, step // 2 + 1)]
    rare = np.array([0, 1, 0x007fffff, 0x00800000, 0x33000000, 0x33000001, 0x33800000, 0x477fefff, 0x477ff000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc12345], np.uint32)
    all_words = np.unique(np.concatenate([words, *near, rare, rare | np.uint32(1 << 31), np.random.default_rng(0).integers(0, 1 << 32, 100000, np.uint64).astype(np.uint32)]))
    return all_words.view(np.float32)


@pytest.mark.parametrize("element", ["bf16", "fp16"])
def test_each_rounding(element, tmp_path):
    build(tmp_path, "--kernel", "scale", source=CONVERT, signatures=[SIGNATURES["scale"].format(element)], target="cpu:sse2", out="libscale.so")
    runtime()
    function = ctypes.CDLL(str(tmp_path / "libscale.so")).scale
    halves = np.arange(1 << 16, dtype=np.uint16)
    widened = (halves.astype(np.uint32) << 16).view(np.float32) if element == "bf16" else halves.view(np.float16).astype(np.float32)
    x = floats_near(widened)
    out = np.zeros(len(x), np.uint16)
    assert launch(function, *map(ctypes.c_int64, (len(x), 1, 1)), pointer(x), pointer(out), len(x)) is None
    with np.errstate(over="ignore"):
        expected = bfloat_bits(x) if element == "bf16" else x.astype(np.float16).view(np.uint16)
    number = ~np.isnan(x)
    np.testing.assert_array_equal(out[number], expected[number])
    assert np.all((out[~number] & 0x7fff) > (0x7f80 if element == "bf16" else 0x7c00))


@pytest.mark.parametrize("element", ["bf16", "fp16"])
def test_sums_by_atomics(element, tmp_path):
    build(tmp_path, "--kernel", "add", source=CONVERT, signatures=[SIGNATURES["add"].format(element)], target="cpu:sse2", out="libadd.so")
    runtime()
    function = ctypes.CDLL(str(tmp_path / "libadd.so")).add
    x = np.arange(1 << 16, dtype=np.uint16)  # each value
    out = np.zeros(len(x), np.uint16)
    assert launch(function, *map(ctypes.c_int64, (len(x), 1, 1)), pointer(x), pointer(out), len(x)) is None
    infinity, sign = (0x7f80 if element == "bf16" else 0x7c00), 0x8000
    number = (x & 0x7fff) <= infinity
    np.testing.assert_array_equal(out[number], np.where(x[number] == sign, 0, x[number]))  # 0 + -0 is 0
    assert np.all((out[~number] & 0x7fff) > infinity)
