"""The driver's class, and where CUDA's own driver lies."""

import functools
import os

from ... import knobs
from ..driver import CUDADriver as CudaDriver

__all__ = ["CudaDriver", "libcuda_dirs"]

_USUAL = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib",
          "/usr/local/nvidia/lib64"]


@functools.lru_cache
def libcuda_dirs():
    """The folders that have a libcuda.so.1, for programs that link with it."""
    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    places = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) + _USUAL
    found = [place for place in places if place and os.path.exists(os.path.join(place, "libcuda.so.1"))]
    assert found, f"there is no libcuda.so.1 in {', '.join(filter(None, places))}: install the GPU's driver, or name its folder in TRITON_LIBCUDA_PATH"
    return found
