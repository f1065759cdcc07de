"""triton.tools.ragged_tma: one descriptor for subarrays of unequal length, each with an end of its own."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.tools.ragged_tma import atomic_add_ragged, create_ragged_descriptor, load_ragged, store_ragged

ROWS, COLUMNS = 8, 16


@triton.jit
def copy_kernel(source, target, first, length, row, COLUMN: tl.constexpr, ADD: tl.constexpr):
    block = load_ragged(source, first, length, [row, COLUMN])
    if ADD:
        atomic_add_ragged(target, first, length, [row, COLUMN], block)
    else:
        store_ragged(target, first, length, [row, COLUMN], block)


@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize("first, length, row", [(0, 40, 0), (5, 6, 0), (5, 6, 4), (30, 10, 8), (7, 0, 0)])
def test_a_block_stays_before_its_subarrays_end(first, length, row, add):
    source = np.random.default_rng(1).standard_normal((40, 32)).astype(np.float32)
    target = np.full_like(source, 7)
    descriptors = [create_ragged_descriptor(x, [ROWS, COLUMNS]) for x in (source, target)]
    copy_kernel[(1,)](*descriptors, first, length, row, COLUMN=16, ADD=add)
    expected = np.full_like(source, 7)
    for i in range(row, min(row + ROWS, length)):
        expected[first + i, 16:] = source[first + i, 16:] + (7 if add else 0)
    np.testing.assert_array_equal(target, expected)


def test_the_last_dimension_is_not_ragged():
    with pytest.raises(AssertionError, match="any dimension but the last"):
        create_ragged_descriptor(np.zeros((4, 16), np.float32), [4, 16], ragged_dim=1)
