"""The machines that kernels run on: for each a compiler and a driver."""

from dataclasses import dataclass

from .compiler import BaseBackend, CPUBackend, CUDABackend, GPUTarget
from .driver import CPUDriver, CUDADriver, DriverBase


@dataclass(frozen=True)
class Backend:
    name: str
    compiler: type[BaseBackend]
    driver: type[DriverBase]


backends = {
    "nvidia": Backend("nvidia", CUDABackend, CUDADriver),
    "cpu": Backend("cpu", CPUBackend, CPUDriver),
}



def make_backend(target):
    """The compiler for a machine."""
    for backend in backends.values():
        if backend.compiler.supports_target(target):
            return backend.compiler(target)
    raise RuntimeError(f"0 compatible backends for target ({target.backend}): there are 'cpu' and 'cuda'")


__all__ = ["Backend", "backends", "BaseBackend", "DriverBase", "GPUTarget", "make_backend"]
