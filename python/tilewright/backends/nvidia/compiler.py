"""The back end's class with its options, and the assembler that it finds."""

import functools
import hashlib
from pathlib import Path

from ... import knobs
from ..compiler import BaseBackend, CUDABackend, CUDAOptions, GPUTarget, Language

__all__ = ["BaseBackend", "CUDABackend", "CUDAOptions", "GPUTarget", "Language", "file_hash", "get_features", "get_ptx_version_from_options",
           "get_ptxas", "get_ptxas_version", "min_dot_size", "ptx_get_version", "sm_arch_from_capability"]


def min_dot_size(target):
    """A function of the types of a tl.dot's operands, which returns the smallest (M, N, K): K elements fill the 32 bytes that an instruction of the tensor
    cores reads from a row. Smaller M and N are padded."""

    def min_size(lhs_type, rhs_type):
        bits, others = lhs_type.scalar.primitive_bitwidth, rhs_type.scalar.primitive_bitwidth
        assert bits == others, f"the operands of tl.dot have elements of one size, not of {bits} and {others} bits"
        return (1, 1, 256 // bits)

    return min_size


def get_ptxas(arch):
    """The ptxas for an architecture, with its path and version. One serves all, unless there is a ptxas-blackwell for sm_100 and later."""
    if arch >= 100:
        try:
            return knobs.nvidia.ptxas_blackwell
        except RuntimeError:
            pass  # there is no separate ptxas for Blackwell
    return knobs.nvidia.ptxas


def get_ptxas_version(arch=80):
    """The version in the words of `ptxas --version`."""
    return f"Cuda compilation tools, release {get_ptxas(arch).version}"


def ptx_get_version(cuda_version):
    """The newest PTX version of a CUDA release as a number: 85 for "12.6". The minor numbers of CUDA 12 and PTX 8 differ by one from 12.6 on, because
    12.5 and 12.6 both have PTX 8.5."""
    major, minor = (int(part) for part in cuda_version.split(".")[:2])
    if major == 12:
        return 80 + minor - (minor > 5)
    first = {10: 63, 11: 70}.get(major, 90 + 10 * (major - 13))
    if major < 10:
        raise RuntimeError(f"CUDA {cuda_version} is too old: 10.0 is the first with a PTX that kernels are compiled to")
    return first + minor


def get_ptx_version_from_options(options, arch):
    """The PTX version that the options name, or else the assembler's newest."""
    return options.ptx_version if options.ptx_version is not None else ptx_get_version(get_ptxas(arch).version)


def get_features(options, arch):
    """LLVM's name of the PTX version, as a feature of its target: "+ptx90" at most."""
    return f"+ptx{min(90, get_ptx_version_from_options(options, arch))}"


@functools.lru_cache
def file_hash(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def sm_arch_from_capability(capability):
    """The architecture of a compute capability: "sm_80" for 80, and "sm_90a" for 90, with the instructions of this generation alone."""
    return f"sm_{capability}{'a' if capability >= 90 else ''}"
