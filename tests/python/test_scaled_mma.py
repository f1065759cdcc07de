"""tl.dot_scaled on GPUs whose mma.sync takes formats of 4 and 8 bits with scales (sm_120a, sm_121a), on the simulator.

The reference adds up in float64 what one instruction adds up, and rounds to fp32 once, as the instruction does. So results are equal. On the GPU of
the machine (tests/gpu/run --blackwell), sums may differ by the rounding of its tensor cores.
"""

import itertools
import os
import re
import shutil

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from microscaling import TYPES, numbers
from test_tcgen05 import device, rounding

FORMATS = list(TYPES)


@triton.jit
def scaled(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, rows, columns, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    ka, kb, groups = tl.arange(0, K // A_PACK), tl.arange(0, K // B_PACK), tl.arange(0, K // GROUP)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] * (depth // A_PACK) + (k // A_PACK + ka)[None, :], mask=m[:, None] < rows, other=0)
        b = tl.load(b_ptr + n[None, :] * (depth // B_PACK) + (k // B_PACK + kb)[:, None], mask=n[None, :] < columns, other=0)
        a_scale = None
        b_scale = None
        if a_scale_ptr is not None:
            a_scale = tl.load(a_scale_ptr + m[:, None] * (depth // GROUP) + (k // GROUP + groups)[None, :], mask=m[:, None] < rows)
        if b_scale_ptr is not None:
            b_scale = tl.load(b_scale_ptr + n[:, None] * (depth // GROUP) + (k // GROUP + groups)[None, :], mask=n[:, None] < columns)
        acc = tl.dot_scaled(a, a_scale, A, b, b_scale, B, acc)
    tl.store(c_ptr + m[:, None] * columns + n[None, :], acc, mask=(m[:, None] < rows) & (n[None, :] < columns))


@triton.jit
def scaled_by_descriptors(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, rows, columns, depth,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    a_tiles = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b_tiles = tl.make_tensor_descriptor(b_ptr, [columns, depth], [depth, 1], [N, K])
    scales = tl.make_tensor_descriptor(a_scale_ptr, [rows, depth // GROUP], [depth // GROUP, 1], [M, K // GROUP])
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    columns_of_tile, groups = n + tl.arange(0, N), tl.arange(0, K // GROUP)
    acc = tl.zeros((M, N), tl.float32)
    for k in tl.range(0, depth, K, num_stages=3):
        at = b_scale_ptr + columns_of_tile[:, None] * (depth // GROUP) + (k // GROUP + groups)[None, :]
        b_scale = tl.load(at, mask=columns_of_tile[:, None] < columns)
        acc = tl.dot_scaled(a_tiles.load([m, k]), scales.load([m, k // GROUP]), A, b_tiles.load([n, k]).T, b_scale, B, acc)
    tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N]).store([m, n], acc)


def factors(scale, group, depth):
    """Each scale for the numbers that it scales, as float64."""
    if scale is None:
        return np.ones((1, depth))
    values = scale.astype(np.float64)
    if scale.dtype == np.uint8:
        values = scale.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    return np.repeat(values, group, axis=1)


def reference(a, b, k):
    c = np.zeros((len(a), len(b)), np.float32)
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[1], k):
            c = (c.astype(np.float64) + a[:, start : start + k] @ b[:, start : start + k].T).astype(np.float32)
    return c


def exponents(rows, groups, low=120, high=135, seed=4):
    return np.random.default_rng(seed).integers(low, high, (rows, groups)).astype(np.uint8)


def check(sizes, blocks, kinds, scales, group=32, target="sm_120a", warps=4, kernel=scaled):
    (m, n, k), (block_m, block_n, block_k) = sizes, blocks
    a, a_bits = numbers(m, k, kinds[0], 1)
    b, b_bits = numbers(n, k, kinds[1], 2)
    c = np.full((m, n), np.nan, np.float32)
    arguments = dict(M=block_m, N=block_n, K=block_k, GROUP=group, A=kinds[0], B=kinds[1], num_warps=warps)
    isPair = kinds == ("e2m1", "e2m1") and any(scale is not None for scale in scales)
    with device(target, check_bounds=True):
        kernel[(-(-m // block_m), -(-n // block_n))](a_bits, scales[0], b_bits, scales[1], c, m, n, k, **arguments)
    x, y = a * factors(scales[0], group, k), b * factors(scales[1], group, k)
    if not os.environ.get("TILEWRIGHT_TESTS_ON_GPU"):
        np.testing.assert_array_equal(c, reference(x, y, 64 if isPair else 32))
    else:
        assert (np.abs(c - x @ y.T) <= rounding(kinds[0]) * (np.abs(x) @ np.abs(y).T)).all()
    compiled = kernel.warmup(a_bits, scales[0], b_bits, scales[1], c, m, n, k, **arguments, grid=(1,), arch=target)
    assert compiled.asm["cubin" if shutil.which("ptxas") else "ptx"]
    return compiled


def instructions(kernel):
    return set(re.findall(r"mma\.sync\.aligned\.(\S+)", kernel.asm["ptx"]))


PAIRS = list(itertools.product(FORMATS, repeat=2))
SOME_SCALES = [(False, False), (True, False), (False, True)]


@pytest.mark.parametrize("kinds, given", [(kinds, (True, True)) for kinds in PAIRS] + [(kinds, given) for kinds in PAIRS[::3] for given in SOME_SCALES])
def test_formats(kinds, given):
    sizes = m, n, k = 32, 16, 128
    scales = [exponents(rows, k // 32) if isThere else None for rows, isThere in zip((m, n), given)]
    kernel = check(sizes, sizes, kinds, scales)
    formats = f"f32.{kinds[0]}.{kinds[1]}.f32"
    if not any(given):
        assert instructions(kernel) == {f"m16n8k32.row.col.kind::f8f6f4.{formats}"}
    elif kinds == ("e2m1", "e2m1"):
        assert instructions(kernel) == {f"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.{formats}.ue8m0"}
    else:
        assert instructions(kernel) == {f"m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.{formats}.ue8m0"}


@pytest.mark.parametrize("sizes, blocks, warps", [
    ((16, 16, 64), (16, 16, 64), 1), ((64, 64, 256), (64, 64, 64), 4), ((128, 64, 256), (128, 64, 128), 8), ((64, 128, 128), (64, 128, 128), 4),
    ((37, 29, 192), (32, 16, 64), 2), ((100, 51, 256), (64, 32, 128), 4),
])
@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e5m2", "e2m1"), ("e2m1", "e4m3")])
def test_sizes(kinds, sizes, blocks, warps):
    m, n, k = sizes
    check(sizes, blocks, kinds, (exponents(m, k // 32), exponents(n, k // 32, seed=5)), warps=warps)


@pytest.mark.parametrize("sizes, blocks", [((64, 64, 1024), (64, 32, 512)), ((100, 48, 1024), (32, 32, 512))])
@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e5m2", "e4m3")])
def test_descriptors(kinds, sizes, blocks):
    """TMA copies operands and scales, ahead of the loop."""
    m, n, k = sizes
    kernel = check(sizes, blocks, kinds, (exponents(m, k // 32), exponents(n, k // 32, seed=5)), kernel=scaled_by_descriptors)
    assert all(text in kernel.asm["ptx"] for text in ("cp.async.bulk.tensor", "ldmatrix", "block_scale")) and "multicast" not in kernel.asm["ptx"]


@pytest.mark.parametrize("target", ["sm_120a", "sm_121a"])
@pytest.mark.parametrize("sizes, blocks", [((32, 16, 64), (32, 16, 64)), ((70, 33, 256), (64, 32, 128))])
def test_nvfp4(sizes, blocks, target):
    m, n, k = sizes
    scales = [np.random.default_rng(seed).uniform(0, 40, (rows, k // 16)).astype(ml_dtypes.float8_e4m3fn) for seed, rows in ((1, m), (2, n))]
    kernel = check(sizes, blocks, ("e2m1", "e2m1"), scales, group=16, target=target)
    assert instructions(kernel) == {"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"}
    assert f".target {target}" in kernel.asm["ptx"]


@pytest.mark.parametrize("kinds", [("e4m3", "e4m3"), ("e2m1", "e2m1")])
def test_special_scales(kinds):
    """0 is 2^-127, not zero; 255 is NaN; and large products overflow only in the sum."""
    scale = exponents(32, 4)
    scale[1, 0], scale[2, 1], scale[3, :], scale[4, :] = 255, 0, 0, 254
    check((32, 32, 128), (32, 32, 128), kinds, (scale, exponents(32, 4, 110, 130, seed=5)))


@pytest.mark.parametrize("arch", ["sm90", "sm_120", "sm100"])
def test_other_gpus_dequantize(arch):
    a, b, scale = np.zeros((32, 64), np.uint8), np.zeros((16, 64), np.uint8), np.zeros((32, 2), np.uint8)
    c = np.zeros((32, 16), np.float32)
    kernel = scaled.warmup(a, scale, b, scale[:16], c, 32, 16, 64, M=32, N=16, K=64, GROUP=32, A="e4m3", B="e5m2", grid=(1,), arch=arch)
    assert "block_scale" not in kernel.asm["ptx"] and "mma" in kernel.asm["ptx"]
