"""Small helpers that tests of kernels import."""

from .runtime.jit import type_canonicalisation_dict
from .language.core import TRITON_MAX_TENSOR_NUMEL

__all__ = ["TRITON_MAX_TENSOR_NUMEL", "canonicalize_dtype", "type_canonicalisation_dict"]


def canonicalize_dtype(dtype):
    return type_canonicalisation_dict[str(dtype).rpartition(".")[2]]
