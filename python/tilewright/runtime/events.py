"""Tells host code about compilations: hooks and listeners of `knobs`, and the switches that dump and time.

A launch calls `compiling` and `compiled` when its kernel is not in memory, and never otherwise.
"""

import os
import sys
import tempfile
from pathlib import Path

from .. import _core, knobs
from .driver import driver


class JitFunctionInfo:
    """The description of a kernel that hooks receive."""

    def __init__(self, module, name, jit_function):
        self.module = module
        self.name = name
        self.jit_function = jit_function


class LazyDict:
    """The metadata of a launch that its hooks receive, computed when a hook reads it. `kernel`: the compiled kernel. `launch`: (kernel,
    arguments, keywords, grid), if known."""

    def __init__(self, data, kernel):
        self.data = data
        self.kernel = kernel
        self.launch = None
        self.extras = []

    def add(self, function, arguments):
        self.extras.append((function, arguments))

    def get(self):
        for function, arguments in self.extras:
            self.data = {**self.data, **function(*arguments)}
        self.extras.clear()
        return self.data


def specialization_data(fn, handle):
    """Returns a specialization as text, which JITFunction.preload reads. A program may replace the function that makes it."""
    types, constants, aligned = handle.description
    options = {name: value for name, value in handle.options.items() if name != "backend_name"}
    return sys.modules[f"{__package__}.jit"].serialize_specialization_data(
        fn._fn_name, _signature(fn, types), constants, _attributes(aligned), options, handle.key, driver.active.get_current_target())


def _signature(fn, types):
    return {name: word or "constexpr" for name, word in zip(fn.arg_names, types)}


def _attributes(aligned):
    return {tuple(path): [["tt.divisibility", 16]] for path in aligned}


def _described(fn, handle, is_warmup):
    """The arguments of a compilation's hooks, by upstream's names."""
    types, constants, aligned = handle.description
    return {
        "key": handle.key, "signature": _signature(fn, types),
        "device": driver.active.get_current_device(), "constants": constants,
        "extern_libs": None, **handle.options, "launch_cooperative_grid": False,
        "configs": [_attributes(aligned)],
        "specialization_data": specialization_data(fn, handle), "is_warmup": is_warmup,
    }


def _tell(hook, fn, handle, is_warmup, already_compiled):
    options = handle.options
    text = f"{fn.__qualname__}[num_warps={options['num_warps']}, num_ctas={options['num_ctas']}, num_stages={options['num_stages']}]"
    return hook(key=handle.key, repr=f"{text}({handle.signature})", fn=JitFunctionInfo(fn.__module__, fn.__qualname__, fn),
                compile=_described(fn, handle, is_warmup), is_manual_warmup=is_warmup, already_compiled=already_compiled)


def compiling(fn, handle, is_warmup):
    """Returns whether to compile: a jit_cache_hook that returns True has compiled the kernel itself, or refuses it."""
    hook = knobs.runtime.jit_cache_hook
    return hook is None or not _tell(hook, fn, handle, is_warmup, False)


def compiled(fn, kernel, is_warmup):
    """Called when a launch has compiled its kernel, or has found its code in the cache folder."""
    after_compilation(kernel)
    if knobs.runtime.jit_post_compile_hook is not None:
        _tell(knobs.runtime.jit_post_compile_hook, fn, kernel._handle, is_warmup, False)
    if not is_warmup and (knobs.runtime.kernel_load_start_hook or knobs.runtime.kernel_load_end_hook):
        kernel._init_handles()


def _names(switch, kernel):
    """True if an environment variable is on for a kernel: for all kernels, or by this one's name."""
    value = os.environ.get(switch, "")
    switched = _core.switch_of(value)
    return value == kernel.name if switched is None else switched


def _show_steps(kernel):
    """Writes the module before each step of the compiler to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        kernel._handle.dump(folder)
        files = sorted(path for path in Path(folder).iterdir() if path.suffix == ".mlir")
        for path, following in zip(files, files[1:]):
            print(f"// -----// IR Dump Before {following.stem[3:]} ({kernel.name}) //----- //", file=sys.stderr)
            print(path.read_text(), file=sys.stderr)


def _show_times(kernel):
    print(f"// -----// Timing of {kernel.name}: {kernel.compile_seconds:.4f} s //----- //", file=sys.stderr)
    for step, seconds in kernel._handle.step_seconds:
        print(f"{seconds:10.4f} s  {step}", file=sys.stderr)


def _write_stages(kernel):
    """Writes the kernel at all its stages to files in TRITON_DUMP_DIR."""
    folder = Path(knobs.cache.dump_dir) / kernel.src.hash()
    folder.mkdir(parents=True, exist_ok=True)
    for stage in kernel.asm:
        content = kernel.asm[stage]
        path = folder / f"{kernel.name[:150]}.{stage}"
        try:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        except OSError as error:
            raise OSError(error.errno, f"TRITON_KERNEL_DUMP: {error.strerror}", str(path)) from None  # a full disk names no file


def _listen(kernel):
    steps = kernel._handle.step_seconds
    first = int(steps[0][1] * 1e6) if steps else 0
    rest = [(step, int(seconds * 1e6)) for step, seconds in steps[1:]]
    stored = int(kernel.compile_seconds * 1e6) - first - sum(microseconds for _, microseconds in rest)
    times = knobs.CompileTimes(max(first, 1), rest, max(stored, 1) if steps else 0)
    knobs.compilation.listener(src=kernel.src, metadata=kernel.metadata._asdict(), metadata_group=kernel.metadata_group, times=times,
                               cache_hit=kernel.from_cache)


def after_compilation(kernel):
    """Shows the requested dumps and times of a kernel that has just been compiled."""
    if kernel._handle.interpreted:
        return
    if _names("MLIR_ENABLE_DUMP", kernel):
        _show_steps(kernel)
    if _names("LLVM_IR_ENABLE_DUMP", kernel):
        print(kernel.asm["llir"], file=sys.stderr)
    if _names("NVPTX_ENABLE_DUMP", kernel) and "ptx" in kernel.asm:
        print(kernel.asm["ptx"], file=sys.stderr)
    if knobs.nvidia.dump_ptxas_log and "cubin" in kernel.asm:
        print(*kernel._handle.gpu["messages"], file=sys.stderr)
    if _names("MLIR_ENABLE_TIMING", kernel) or _names("LLVM_ENABLE_TIMING", kernel):
        _show_times(kernel)
    if knobs.compilation.dump_ir:
        _write_stages(kernel)
    if knobs.compilation.listener is not None:
        _listen(kernel)
