"""The machines that kernels run on: for each a compiler and a driver."""

from .._records import record
from .compiler import BaseBackend, CPUBackend, CUDABackend, GPUTarget
from .driver import CPUDriver, CUDADriver, DriverBase


Backend = record(__name__, "Backend", "One of the machines.", [("name", str), ("compiler", type[BaseBackend]), ("driver", type[DriverBase])], frozen=True)

backends = {name: Backend(name, *classes) for name, classes in {"nvidia": (CUDABackend, CUDADriver), "cpu": (CPUBackend, CPUDriver)}.items()}



def make_backend(target):
    """The compiler for a machine."""
    for backend in backends.values():
        if backend.compiler.supports_target(target):
            return backend.compiler(target)
    raise RuntimeError(f"0 compatible backends for target ({target.backend}): there are 'cpu' and 'cuda'")


__all__ = ["Backend", "backends", "BaseBackend", "DriverBase", "GPUTarget", "make_backend"]
