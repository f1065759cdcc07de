"""tl.dot_scaled where scales are absent or invalid, on tensor cores that take scales, on the simulator."""

import os
import re

import ml_dtypes
import numpy as np
import pytest

import microscaling
import tilewright as triton
import tilewright.language as tl
from test_scaled_mma import scaled
from test_tcgen05 import device, ptx


@triton.jit
def unscaled(
    a_ptr, b_ptr, c_ptr, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr,
):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    m, n, ka, kb = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // A_PACK), tl.arange(0, K // B_PACK)
    acc = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        a = tl.load(a_ptr + m[:, None] * (depth // A_PACK) + (k // A_PACK + ka)[None, :])
        b = tl.load(b_ptr + n[None, :] * (depth // B_PACK) + (k // B_PACK + kb)[:, None])
        acc = tl.dot_scaled(a, None, A, b, None, B, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("kinds", [(a, b) for a in ("e4m3", "e5m2", "e2m1") for b in ("e4m3", "e5m2", "e2m1")])
@pytest.mark.parametrize(("m", "n", "target"), [(128, 128, "sm_100a"), (64, 64, "sm_103a")])
def test_dots_without_any_scales(m, n, kinds, target):
    """Sums of small numbers are exact in fp32."""
    depth = 256
    (x, x_bits), (y, y_bits) = (microscaling.numbers(rows, depth, kind, seed) for rows, kind, seed in ((m, kinds[0], 1), (n, kinds[1], 2)))
    for values, bits, kind in ((x, x_bits, kinds[0]), (y, y_bits, kinds[1])):
        if kind != "e2m1":  # only 1, -1 and 0
            one = 0x38 if kind == "e4m3" else 0x3c
            bits[:] = np.array([0, one, one | 0x80], np.uint8)[bits % 3]
            values[:] = bits.view(microscaling.TYPES[kind]).astype(np.float64)
    c = np.zeros((m, n), np.float32)
    arguments = (x_bits, y_bits, c, depth, m, n, 128, *kinds)
    with device(target):
        unscaled[1,](*arguments, num_warps=4, num_stages=3)
    np.testing.assert_array_equal(c, x @ y.T)
    text = ptx(unscaled, target, arguments, num_warps=4, num_stages=3)
    kind = "mxf4" if kinds == ("e2m1", "e2m1") else "mxf8f6f4"
    assert set(re.findall(r"tcgen05\.mma\S*kind::(\w+)", text)) == {kind} and "mma.sync" not in text


@pytest.mark.skipif(bool(os.environ.get("TILEWRIGHT_TESTS_ON_GPU")), reason="tensor cores ignore the sign")
@pytest.mark.parametrize("target", ["sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"])
@pytest.mark.parametrize("second", [False, True])
def test_scales_of_nvfp4_have_no_sign(target, second):
    m, n, k = 128, 64, 128
    (_, a), (_, b) = microscaling.numbers(m, k, "e2m1", 1), microscaling.numbers(n, k, "e2m1", 2)
    scales = [np.ones((rows, k // 16), ml_dtypes.float8_e4m3fn) for rows in (m, n)]
    scales[second][5, 6] = -1.0
    c = np.zeros((m, n), np.float32)

    def run():
        with device(target):
            scaled[1, 1](a, scales[0], b, scales[1], c, m, n, k, m, n, k, 16, "e2m1", "e2m1", num_warps=4)
    if target in ("sm_120a", "sm_121a"):
        with pytest.raises(Exception, match="a scale of ue4m3 has a sign"):
            run()
        return
    run()
    touched = np.zeros((m, n), bool)
    touched[(slice(None), 5) if second else (5, slice(None))] = True
    np.testing.assert_array_equal(np.isnan(c), touched)
