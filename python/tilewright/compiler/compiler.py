"""Compilation without a launch: a source, a target and options."""

from .. import _core, knobs
from ..backends import make_backend
from ..backends.compiler import GPUTarget
from ..runtime.cache import get_cache_key, get_cache_manager, triton_key
from ..runtime.driver import driver
from ..runtime.events import LazyDict, after_compilation
from .compiled import AsmDict, CompiledKernel, KernelMetadata
from .sources import ASTSource, IRSource

__all__ = ["AsmDict", "ASTSource", "compile", "CompiledKernel", "get_cache_key", "get_cache_manager", "GPUTarget", "IRSource", "KernelMetadata",
           "LazyDict", "make_backend", "max_shared_mem", "triton_key"]


def max_shared_mem(device):
    """The maximum number of bytes of shared memory of a program on a device."""
    return driver.active.utils.get_device_properties(device)["max_shared_mem"]


def _target_of(arch):
    """The GPUTarget of an architecture such as "sm_90a"; None for None, and for a level of CPUs."""
    return GPUTarget("cuda", arch, 32) if arch and str(arch)[:2] == "sm" else None


def compile(src, target=None, options=None, _env_vars=None):
    """Compiles an ASTSource, or the .ttir file of a path, for a GPUTarget (None: the active driver's), and returns a CompiledKernel."""
    options = dict(options or {})
    arch = options.get("arch") or knobs.runtime.override_arch
    if target is None:
        target = _target_of(arch) or driver.active.get_current_target()
    elif target.backend == "cuda":
        target = _target_of(arch) or target
    if target.backend not in ("cpu", "cuda"):
        raise ValueError(f"compile: there is no back end for '{target.backend}'; kernels are compiled for 'cpu' and 'cuda'")
    cpu = _core.target()
    if target.backend == "cpu" and str(target.arch) in set(cpu["all_levels"].split(", ")) - set(cpu["levels"].split(", ")):
        raise ValueError(f"compile: code for cpu:{target.arch} does not run on this machine, whose levels are {cpu['levels']}; "
                         "`tilewright compile --emit obj` and triton.tools.compile write code for other machines")
    name = str(target.arch) if target.backend == "cuda" else ""
    if isinstance(src, ASTSource):
        handle = _core.compile_described(src.fn, *src.describe(), options, name)
    else:
        src = src if isinstance(src, IRSource) else IRSource(src)
        handle = _core.compile_text(src.src, str(src.path), options, name)
    src.given_options = options
    kernel = CompiledKernel(handle, getattr(src, "fn", None), src)
    after_compilation(kernel)
    return kernel
