"""`tl.target_info`: questions that kernels ask about the machine for which they are compiled, and host code about the active one."""

from .core import _ON_HOST, members

globals().update(members("triton.language.target_info"))


def _active_target():
    """The GPUTarget of the active driver; None if there is no active driver."""
    from ..runtime.driver import driver  # imported here, because it imports the language

    try:
        return driver.active.get_current_target()
    except RuntimeError:
        return None


def _is(backend, arch=None):
    target = _active_target()
    return target is not None and target.backend == backend and arch in (None, target.arch)


def _capability_geq(major, minor=0):
    return _is("cuda") and _active_target().arch >= 10 * major + minor


_ON_HOST.update({
    "current_target": _active_target,
    "is_cuda": lambda: _is("cuda"),
    "cuda_capability_geq": _capability_geq,
    "is_hip": lambda: _is("hip"),
    "is_hip_cdna3": lambda: _is("hip", "gfx942"),
    "is_hip_cdna4": lambda: _is("hip", "gfx950"),
    "is_hip_gfx1250": lambda: _is("hip", "gfx1250"),
})
