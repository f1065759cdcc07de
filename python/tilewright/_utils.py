"""Small helpers that tests of kernels import."""

from .runtime.jit import type_canonicalisation_dict
from .language.core import TRITON_MAX_TENSOR_NUMEL

__all__ = ["TRITON_MAX_TENSOR_NUMEL", "canonicalize_dtype", "find_paths_if", "get_iterable_path", "type_canonicalisation_dict"]


def canonicalize_dtype(dtype):
    return type_canonicalisation_dict[str(dtype).rpartition(".")[2]]


def get_iterable_path(value, path):
    """The member at a path of nested lists and tuples: (2, 0) is the first member of the third one."""
    for index in path:
        value = value[index]
    return value


def find_paths_if(value, accepts, path=()):
    """The paths of all members of nested lists and tuples for which accepts(path, member) is true."""
    if isinstance(value, (list, tuple)):
        return [found for index, member in enumerate(value) for found in find_paths_if(member, accepts, (*path, index))]
    return [path] if accepts(path, value) else []
