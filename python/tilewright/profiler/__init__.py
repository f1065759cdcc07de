"""Where a program's time goes, kernel by kernel and scope by scope, by the interface of Triton's profiler, Proton.

    import triton.profiler as proton
    proton.start("matmul", hook="triton")
    with proton.scope("attention", {"flops16": 2e12}):
        kernel[grid](...)
    proton.finalize()                     # matmul.hatchet
    # python -m tilewright -m triton.profiler.viewer -m time/ms,tflop16/s matmul.hatchet

On a CPU, a launch is timed by the clock. On a GPU it is timed by two events around it, which are read when the profile is read; the work of other
libraries is the time that its scope takes on the current stream, less that of the kernels in it.
"""

from . import context, data, hooks, mode
from .profile import DEFAULT_PROFILE_NAME, activate, deactivate, finalize, profile, start
from .scope import cpu_timed_scope, enter_scope, exit_scope, scope
from .state import enter_state, exit_state, metadata_state, state

__all__ = [
    "activate", "context", "cpu_timed_scope", "data", "deactivate", "DEFAULT_PROFILE_NAME", "enter_scope", "enter_state", "exit_scope", "exit_state",
    "finalize", "hooks", "metadata_state", "mode", "profile", "scope", "start", "state",
]
