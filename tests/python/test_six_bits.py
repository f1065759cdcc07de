"""tl.dot_scaled of e2m3 and e3m2 by tcgen05.mma: 16 numbers become 12 of 16 bytes of shared memory."""

import itertools

import microscaling
import numpy as np
import pytest

from test_tcgen05 import device, ptx, rounding, scaled_columns, scaled_multiply

SIX = ("e2m3", "e3m2")
MIXES = [kinds for kinds in itertools.product(microscaling.TYPES, repeat=2) if set(kinds) & set(SIX)]


@pytest.mark.parametrize("kinds", MIXES)
@pytest.mark.parametrize(("tile", "warps", "target"), [((128, 64, 64), 4, "sm_100a"), ((64, 32, 128), 4, "sm_103a"), ((256, 64, 32), 8, "sm_100a")])
def test_mixes(kinds, tile, warps, target):
    """Rows and columns beyond the matrices are masked."""
    m, n, k = tile
    text = scaled_multiply(target, (m + 40, n - 8, 3 * k), tile, kinds, "e8m0", 32, num_warps=warps, num_stages=3)
    assert "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale" in text and "mma.sync" not in text


@pytest.mark.parametrize("kinds", [SIX, ("e3m2", "e4m3"), ("e5m2", "e2m3")])
@pytest.mark.parametrize("ctas", [1, 2])
def test_contiguous_rows_and_columns(kinds, ctas):
    """The numbers along K are not adjacent in memory."""
    m, n, k = 256, 64, 64
    (a, a_bits), (b, b_bits) = microscaling.numbers(m, 3 * k, kinds[0], 1), microscaling.numbers(n, 3 * k, kinds[1], 2)
    scales = [np.random.default_rng(3).integers(115, 140, (size, 3 * k // 32)).astype(np.uint8) for size in (m, n)]
    x, y = (values * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1) for values, scale in zip((a, b), scales))
    c = np.zeros((m, n), np.float32)
    arguments = (np.ascontiguousarray(a_bits.T), scales[0], np.ascontiguousarray(b_bits.T), scales[1], c, m, n, 3 * k, m, n, k, *kinds)
    with device("sm_100a"):
        scaled_columns[1, 1](*arguments, num_warps=4, num_ctas=ctas)
    assert np.all(np.abs(c - x @ y.T) <= np.abs(x) @ np.abs(y.T) * rounding(kinds[0]) * (2 + 3 * k / 8))
    assert ".block_scale" in ptx(scaled_columns, "sm_100a", arguments, num_warps=4, num_ctas=ctas)
