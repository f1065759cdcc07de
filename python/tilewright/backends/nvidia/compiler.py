"""The back end's class, and the assembler that it finds."""

from ... import knobs
from ..compiler import CUDABackend

__all__ = ["CUDABackend", "get_ptxas", "get_ptxas_version"]


def get_ptxas(arch):
    """The ptxas for an architecture, with its path and version. One serves all, unless there is a ptxas-blackwell for sm_100 and later."""
    if arch >= 100:
        try:
            return knobs.nvidia.ptxas_blackwell
        except RuntimeError:
            pass  # there is none of its own
    return knobs.nvidia.ptxas


def get_ptxas_version(arch=80):
    """The version in the words of `ptxas --version`."""
    return f"Cuda compilation tools, release {get_ptxas(arch).version}"
