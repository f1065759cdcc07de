"""The back end "tilewright" of torch.compile: Inductor, whose Triton kernels Tilewright compiles, on GPUs and on CPUs.

PyTorch finds `compile` by the entry point `torch_dynamo_backends` of the package's metadata. At that time it has imported a few of its modules that
import Triton. They have recorded that there is none, or another one. `adopt` makes these modules import it again.
"""

import atexit
import functools
import importlib.util
import sys

_NOTED = {  # modules that record which names Triton has, and their variables for this; None for all
    "torch._inductor.runtime.triton_compat": None,
    "torch._inductor.runtime.hints": ("AttrsDescriptorWrapper",),
}
_BUILT = "torch._inductor.runtime.triton_heuristics"  # has subclasses of Triton's classes
_NAMES_TRITON = "torch._dynamo.utils"  # imports it if it is installed, and then reads it under this name
_PARTS = ("torch._inductor", "torch._dynamo", "torch._higher_order_ops", "torch.utils")


def _is_ours(module):
    return getattr(getattr(module, "triton", None), "__name__", "").startswith("tilewright")


def _read_again(module):
    """Returns a fresh copy of a module: its file is executed again."""
    spec = importlib.util.spec_from_file_location(module.__name__, module.__file__)
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return fresh


def _renew(module, names):
    """Gives a module's names the values that they have now, there and in all modules that have taken them from it."""
    before, now = dict(vars(module)), vars(_read_again(module))
    changed = {name for name in names or now if not name.startswith("__") and now.get(name) is not before.get(name)}
    parts = [part for name, part in list(sys.modules.items()) if name.startswith(_PARTS) and part is not None]
    for name in changed:
        for part in parts:
            held = vars(part)
            if part is module or (name in held and name in before and held[name] is before[name]):
                held[name] = now[name]


def adopt():
    """Makes PyTorch's modules use Tilewright as Triton, those that are imported as well. RuntimeError where Inductor has compiled with another one."""
    from ._alias import install
    install()
    compat = sys.modules.get("torch._inductor.runtime.triton_compat")
    if compat is None or _is_ours(compat):
        return
    if _BUILT in sys.modules:
        raise RuntimeError('Inductor has been used with another Triton in this process: put `import tilewright; tilewright.install()` before '
                           'it, or use backend="tilewright" first')
    import torch.utils._triton
    for function in vars(torch.utils._triton).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()
    if _NAMES_TRITON in sys.modules:
        vars(sys.modules[_NAMES_TRITON])["triton"] = sys.modules["triton"]
    for name, names in _NOTED.items():
        if name in sys.modules:
            _renew(sys.modules[name], names)
    workers = sys.modules.get("torch._inductor.async_compile")
    if workers is not None:
        workers.shutdown_compile_workers()  # the next ones find Tilewright


def _end_unready_workers():
    """Kills Inductor's compile workers if none of them has run a job yet. CPython 3.12 forbids new threads at exit, so in 3.12.1 a pool of processes
    that has not passed on its first job never ends, and PyTorch waits minutes for it. This happens if a program ends soon after a compilation."""
    workers = sys.modules["torch._inductor.async_compile"]
    ready = workers.AsyncCompile._ready_future
    if ready is None or ready.done():
        return
    for pool in workers._pool_set:
        if process := getattr(pool, "process", None):
            process.kill()  # its children end when their parent does


@functools.cache
def _end_unready_workers_at_exit():
    import torch._inductor.async_compile  # registers the function that waits for the workers; what is registered later runs earlier
    atexit.register(_end_unready_workers)


def compile(graph, inputs, *, mode=None, options=None):
    """Compiles a graph of torch.compile for these inputs. mode and options are those of torch.compile for Inductor."""
    adopt()
    _end_unready_workers_at_exit()
    import torch
    chosen = {"cpu_backend": "triton"}
    if all(value.device.type == "cpu" for value in inputs if isinstance(value, torch.Tensor)):
        chosen["benchmark_epilogue_fusion"] = False  # max-autotune measures fusions under a guard of the device, which CPUs do not have
    return torch._TorchCompileInductorWrapper(mode, {**chosen, **(options or {})}, None)(graph, inputs)


def register():
    """Adds the back end to a PyTorch that has already looked for them."""
    registry = sys.modules.get("torch._dynamo.backends.registry")
    if registry is not None and "tilewright" not in registry._BACKENDS:
        registry.register_backend(compile, name="tilewright")
