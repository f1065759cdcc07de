"""Access to consecutive subarrays of unequal length in one tensor, with the bounds of each.

The host sets a descriptor's bounds, but only the kernel knows where its subarray ends. So the descriptor has two more leading dimensions,
whose offsets cancel the ragged offset. The ragged dimension has 2^30 rows. A kernel reads at 2^30 minus the subarray's length, so that the
descriptor's end is the subarray's. The offsets of the first two dimensions restore the address. Addresses have 64 bits: 2^30 steps of the
first dimension are 2^64 elements, which wrap around to 0, minus 2^30 rows.

    descriptor = create_ragged_descriptor(x, [64, 128])                 # x: [rows, columns]
    load_ragged(descriptor, first_row, rows, [row, column])             # in a kernel: zeros after the subarray's end
"""

import tilewright as triton
import tilewright.language as tl
from tilewright.tools.tensor_descriptor import TensorDescriptor

_LENGTH = 2**30


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """A descriptor of a tensor with two or three dimensions, for load_ragged and the other functions here."""
    rank = len(T.shape)
    ragged_dim += rank if ragged_dim < 0 else 0
    assert 0 <= ragged_dim < rank - 1, "rows are ragged, not the numbers in a row: ragged_dim is any dimension but the last"
    assert rank <= 3, f"a ragged descriptor is of two or three dimensions, not {rank}"
    assert len(block_shape) == rank, f"block_shape has {len(block_shape)} dimensions, the tensor {rank}"
    assert T.shape[ragged_dim] <= _LENGTH, f"{T.shape[ragged_dim]} rows are more than 2**30"
    whole = TensorDescriptor.from_tensor(T, block_shape)
    shape, strides = whole.shape, whole.strides
    row = strides[ragged_dim]
    shape[ragged_dim] = _LENGTH
    unbounded = 0x7FFF0000
    return TensorDescriptor(T, [unbounded, unbounded] + shape, [2**34 - row, row] + strides, [1, 1] + list(block_shape))


@triton.jit
def to_ragged_indices(slice_off, slice_size, row):
    """The offsets of the two leading dimensions and of the ragged one."""
    length = 0x40000000
    return length, slice_off + slice_size, length - slice_size + row


@triton.jit
def load_ragged(TMA, slice_off, slice_size, coords, ragged_dim: tl.constexpr = 0):
    """A block of T[slice_off : slice_off + slice_size] at `coords`, which must not be negative; elements after the end are zeros."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "TMA is of create_ragged_descriptor; coords are as many as its tensor's dimensions")
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = TMA.load([first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:])
    return tl.reshape(block, block.shape[2:])


@triton.jit
def store_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Stores a block to T[slice_off : slice_off + slice_size] at `coords`; nothing is stored after the end."""
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.store([first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:], block)


@triton.jit
def atomic_add_ragged(TMA, slice_off, slice_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds a block to T[slice_off : slice_off + slice_size] at `coords`; nothing is added after the end."""
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    block = tl.reshape(data, [1, 1] + data.shape)
    TMA.atomic_add([first, second] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1:], block)
