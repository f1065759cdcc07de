"""Tensor descriptors made by the host."""

from dataclasses import dataclass
from typing import Any, List


def _strides(tensor):
    if hasattr(tensor, "stride"):
        return list(tensor.stride())
    return [step // tensor.itemsize for step in tensor.strides]


@dataclass
class TensorDescriptor:
    """A strided tensor, and the shape of the blocks that kernels take from it."""

    base: Any
    shape: List[int]
    strides: List[int]
    block_shape: List[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self):
        rank = len(self.shape)
        if rank == 0:
            raise ValueError("rank must not be zero")
        if len(self.strides) != rank or len(self.block_shape) != rank:
            raise ValueError("rank mismatch: shape, strides and block_shape have the same length")
        if self.strides[-1] != 1:
            raise ValueError("Last dimension must be contiguous")
        if self.padding not in ("zero", "nan"):
            raise ValueError("padding is 'zero' or 'nan'")

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero"):
        return TensorDescriptor(tensor, list(tensor.shape), _strides(tensor), list(block_shape), padding)
