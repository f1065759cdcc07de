"""Pairs of CTAs that multiply with block scales (tcgen05.mma with cta_group::2), on the simulator, which reports each broken rule of the ISA.
ptxas assembles the same kernels."""

import random

import numpy as np
import pytest

import microscaling
import tilewright as triton
import tilewright.language as tl
from test_cta_pairs import is_paired
from test_tcgen05 import FORMATS, device, in_words, load_scales, multiply_persistent_scaled, ordered_multiply, ptx, rounding, scaled_multiply

KINDS = {"mxfp8": "mxf8f6f4", "mxfp4": "mxf4", "nvfp4": "mxf4nvf4", "mixed": "mxf8f6f4"}
OPTIONS = {"num_warps": 4, "num_ctas": 2, "num_stages": 2}


def checked(kind, text):
    """Scales go to tensor memory of both CTAs, by copies of the first one."""
    assert is_paired(text) and f"tcgen05.mma.cta_group::2.kind::{KINDS[kind]}.block_scale" in text
    assert "tcgen05.cp.cta_group::2.32x128b.warpx4" in text and "ld.global" not in text and "cp.async.c" not in text
    return text


@pytest.mark.parametrize("target", ["sm_100a", "sm_103a"])
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("sizes", "tile"), [((256, 128, 768), (256, 128, 256)), ((300, 384, 512), (256, 256, 256)), ((40, 136, 1024), (256, 128, 128)), ((600, 512, 256), (512, 128, 128))])
def test_matmul(kind, sizes, tile, target):
    """Sizes that the tile does not divide, and fewer rows than one CTA has. K of an iteration is one, two or four words of scales."""
    checked(kind, ordered_multiply(kind, sizes, tile, "descriptor", target, **OPTIONS))


@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("depth", [0, 128, 256, 384, 1152])
@pytest.mark.parametrize("kind", ["mxfp8", "nvfp4"])
def test_stages(kind, depth, stages):
    """More iterations than sets of scales in tensor memory, and fewer."""
    for _ in range(2):  # warps run in another order each time
        ordered_multiply(kind, (256, 128, depth), (256, 128, 128), "descriptor", num_warps=8, num_ctas=2, num_stages=stages)


@pytest.mark.parametrize("programs", [1, 3])
@pytest.mark.parametrize("depth", [0, 128, 640])
@pytest.mark.parametrize(("tile", "warps"), [((256, 128, 128), 4), ((256, 256, 128), 8), ((256, 256, 256), 8)])
@pytest.mark.parametrize("kind", FORMATS)
def test_persistent_matmul(kind, tile, warps, depth, programs):
    """Both CTAs load their rows of a sum before the next tile's MMAs overwrite it, or while these write another one."""
    if kind in ("mxfp8", "mixed") and tile == (256, 256, 256):
        tile = (256, 128, 256)  # two stages fit
    text = multiply_persistent_scaled(kind, tile, depth, programs, more_columns=16, num_warps=warps, num_ctas=2, num_stages=3)
    if depth:
        checked(kind, text)
        assert "setmaxnreg" in text and text.count("tcgen05.commit") == 3  # of the stages, of the scales, and of the sums


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("how", ["axes", "rows", "elements"])
def test_scales_by_pointers(kind, how):
    """TMA copies scales whose addresses say what their dimensions are. Otherwise threads copy them, and each CTA multiplies by itself."""
    text = ordered_multiply(kind, (500, 136, 512), (256, 128, 256), how, **OPTIONS)
    if how == "axes":
        checked(kind, text)
    else:
        assert "tcgen05.mma.cta_group::1" in text and ".block_scale" in text and not is_paired(text)


@pytest.mark.parametrize("ctas", [2, 4])
@pytest.mark.parametrize("tile", [(256, 128, 128), (512, 64, 128), (128, 256, 128), (128, 64, 64), (64, 64, 128), (64, 256, 128)])
@pytest.mark.parametrize(("kinds", "scale", "group"), [(("e4m3", "e5m2"), "e8m0", 32), (("e2m1", "e4m3"), "e8m0", 32), (("e2m1", "e2m1"), "e8m0", 32), (("e2m1", "e2m1"), "e4m3", 16)])
def test_scales_in_rows(kinds, scale, group, tile, ctas):
    """The CTAs split rows, or columns where they would have fewer than 128 rows. Dots that are too small for each CTA are dequantized."""
    m, n, k = tile
    text = scaled_multiply("sm_100a", (m + 40, n + 8, 3 * k), tile, kinds, scale, group, num_warps=4, num_ctas=ctas, num_stages=3)
    assert ".block_scale" in text and not is_paired(text)


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels(seed):
    rng = random.Random(seed)
    kind, warps = rng.choice(list(FORMATS)), rng.choice([4, 8])
    m, n, k = rng.choice([256, 256, 512]), rng.choice([128, 128, 256]), rng.choice([128, 256])
    if FORMATS[kind][1] == 16:
        k = max(k, 64)
    if m == 512 and (n == 256 or kind == "mixed" or k == 256):
        n, k = 128, 128  # the sums take half of tensor memory, and two stages fit in shared memory
    if kind in ("mxfp8", "mixed") and n == 256:
        k = 128
    sizes = rng.randrange(16, 2 * m, 16), rng.randrange(16, 2 * n + 16, 16), rng.randrange(1, 6) * 128
    options = {"num_warps": warps, "num_ctas": 2, "num_stages": rng.choice([2, 3, 4])}
    if rng.random() < 0.5:
        checked(kind, multiply_persistent_scaled(kind, (m, n, k), sizes[2], rng.choice([1, 2, 3]), more_columns=16, **options))
    else:
        checked(kind, ordered_multiply(kind, sizes, (m, n, k), "descriptor", **options))


@triton.jit
def two_sums(a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, d_ptr, depth, words, M: tl.constexpr, N: tl.constexpr):
    m, n, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 128)
    acc, other = tl.zeros((M, N), tl.float32), tl.zeros((M, N), tl.float32)
    for k in range(words):
        x = tl.load(a_ptr + m[:, None] * depth + (k * 128 + ks)[None, :])
        y = tl.load(b_ptr + n[:, None] * depth + (k * 128 + ks)[None, :])
        z = tl.load(b_ptr + (N + n)[:, None] * depth + (k * 128 + ks)[None, :])
        s = load_scales(a_scale_ptr, 0, k, words, 1, M // 128, "axes")
        acc = tl.dot_scaled(x, s, "e4m3", y.T, load_scales(b_scale_ptr, 0, k, words, 1, N // 128, "axes"), "e4m3", acc)
        other = tl.dot_scaled(x, s, "e4m3", z.T, load_scales(b_scale_ptr, N // 128, k, words, 1, N // 128, "axes"), "e4m3", other)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc)
    tl.store(d_ptr + m[:, None] * N + n[None, :], other)


@pytest.mark.parametrize("words", [1, 2, 5])
def test_two_sums(words):
    """Two MMAs of an iteration share A and its scales, and use both sets of columns for scales."""
    depth = words * 128
    a, a_bits = microscaling.numbers(256, depth, "e4m3", 1)
    b, b_bits = microscaling.numbers(256, depth, "e4m3", 2)
    rng = np.random.default_rng(3)
    scales = [rng.integers(115, 140, (256, depth // 32)).astype(np.uint8) for _ in range(2)]
    x, y = (values * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1) for values, scale in zip((a, b), scales))
    c, d = np.zeros((256, 128), np.float32), np.zeros((256, 128), np.float32)
    arguments = (a_bits, in_words(scales[0]), b_bits, in_words(scales[1]), c, d, depth, words, 256, 128)
    with device("sm_100a"):
        two_sums[1,](*arguments, **OPTIONS)
    assert np.all(np.abs(np.hstack([c, d]) - x @ y.T) <= np.abs(x) @ np.abs(y.T) * rounding("e4m3") * (2 + depth / 8))
    if words > 1:
        checked("mxfp8", ptx(two_sums, "sm_100a", arguments, **OPTIONS))
