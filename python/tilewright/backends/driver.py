"""The two kinds of machine: the CPU this process runs on, and NVIDIA GPUs."""

import os
import re
import sys
import time
from contextlib import nullcontext
from functools import partial

from .. import _core, _measure
from .compiler import GPUTarget


class DriverBase:
    """A kind of machine, with the questions that host code asks about it."""

    @classmethod
    def is_active(cls):
        """True if there is such a machine."""
        return True

    def get_benchmarker(self):
        return partial(_measure.do_bench, self)

    def launcher_cls(self, src, metadata):
        """Upstream's class of launchers, which raises NotImplementedError here: a CompiledKernel launches itself by `run`."""
        raise NotImplementedError("kernels are launched by kernel[grid](...) or CompiledKernel.run; there is no launcher to be built")

    def assemble_tensormap_to_arg(self, tensormaps_info, args):
        return args


class GPUDriver(DriverBase):
    """A machine whose memory is not the host's."""

    def allocate_default_profile_scratch(self, size, alignment, stream):
        """`size` bytes of zeroed memory for a profiler, for a launch in this stream. 0 is the device's default stream, None the current one."""
        from torch import int8, zeros
        device, streams = self.get_active_torch_device(), self.get_device_interface()
        used = None
        if stream is not None:
            used = streams.ExternalStream(stream, device=device) if stream else streams.default_stream(device)
        with streams.stream(used) if used else nullcontext():
            memory = zeros(size, dtype=int8, device=device)
        if stream:
            memory.record_stream(used)
        return memory


class _Utils:
    def get_device_properties(self, device=0):
        """Returns the CPU's properties by the names that GPU code uses; those that a CPU lacks have neutral values. A computed
        occupancy is at least one program per multiprocessor."""
        properties = _core.target()
        return {
            "max_shared_mem": 1 << 30,
            "max_num_regs": properties["registers"] * 1024,
            "multiprocessor_count": properties["threads"],
            "sm_count": properties["threads"],
            "warpSize": 1,
            "warp_size": 1,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 0,
            "l2_bytes": properties["l2_bytes"],
            "llc_bytes": properties["llc_bytes"],
            "vector_bytes": properties["vector_bytes"],
            "name": properties["cpu"],
        }


class _HostEvent:
    """A time on the CPU's clock, with the methods of torch.cuda.Event."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        self._time = None

    def record(self, stream=None):
        self._time = time.perf_counter()

    def synchronize(self):
        pass

    wait = synchronize

    def query(self):
        return True

    def elapsed_time(self, end):
        """Milliseconds from this event to `end`."""
        return (end._time - self._time) * 1e3


class _Caches:
    """The CPU's caches, which a benchmark empties before each call by zero_(). For GPUs, it is a tensor to which zeros are written."""

    def zero_(self):
        _core.flush_caches()


class _NoDevice:
    """Replaces torch.cuda on a CPU, so that code may synchronize and count devices: there is one, and synchronize returns at once."""

    Event = _HostEvent

    def synchronize(self, device=None):
        pass

    def current_device(self):
        return 0

    def device_count(self):
        return 1

    def get_device_capability(self, device=None):
        return (0, 0)


class CPUDriver(DriverBase):
    def __init__(self):
        self.utils = _Utils()

    def default_ordinal(self):
        """Where launches without tensors run: the number of a CUDA device, or -1."""
        return -1

    def get_current_target(self):
        return GPUTarget("cpu", _core.target()["level"], 1)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_interface(self):
        return _NoDevice()

    def get_device_capability(self, device=None):
        return (0, 0)

    def get_empty_cache_for_benchmark(self):
        return _Caches()

    def clear_cache(self, cache):
        cache.zero_()


def _torch_cuda():
    """torch.cuda, if this process has imported PyTorch and that supports CUDA; else None."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_available() else None


class _CUDAUtils:
    def get_device_properties(self, device=0):
        return _core.cuda_device(device)


class _CUDADevice:
    """Replaces torch.cuda in a process without PyTorch: code may synchronize and count devices."""

    def synchronize(self, device=None):
        _core.cuda_synchronize(device or 0)

    def current_device(self):
        return 0

    def device_count(self):
        return _core.cuda_device_count()

    def get_device_capability(self, device=None):
        properties = _core.cuda_device(device or 0)
        return (properties["major"], properties["minor"])


def _is_usable():
    try:
        _core.cuda_device(0)
    except RuntimeError:
        return False
    return True


class CUDADriver(GPUDriver):
    @classmethod
    def is_active(cls):
        """True if there is a GPU for which kernels are compiled. A forked process that compiles for its parent cannot call CUDA: it uses the
        result of its parent, or PyTorch's count there."""
        if not cls._found:
            cls._found = _is_usable() if _core.cuda_device_count() else _torch_cuda() is not None
        return cls._found

    _found = False

    def __init__(self):
        self.utils = _CUDAUtils()

    def default_ordinal(self):
        return self.get_current_device()

    def get_current_target(self):
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_active_torch_device(self):
        import torch
        return torch.device("cuda", self.get_current_device())

    def get_current_device(self):
        """Returns the index of PyTorch's current device. It is 0 in a forked process, which must not call CUDA and launches nothing."""
        cuda = _torch_cuda()
        return cuda.current_device() if cuda is not None and not cuda._is_in_bad_fork() else 0

    def set_current_device(self, device):
        cuda = _torch_cuda()
        if cuda is not None:
            cuda.set_device(device)
        _core.set_default_device(device)

    def get_current_stream(self, device=None):
        cuda = _torch_cuda()
        return cuda.current_stream(device).cuda_stream if cuda is not None else 0

    def get_device_interface(self):
        return _torch_cuda() or _CUDADevice()

    def get_device_capability(self, device=None):
        properties = _core.cuda_device(self.get_current_device() if device is None else device)
        return (properties["major"], properties["minor"])

    def get_empty_cache_for_benchmark(self):
        import torch
        return torch.empty(256 << 20, dtype=torch.int8, device=self.get_active_torch_device())

    def clear_cache(self, cache):
        cache.zero_()


_BY_NAME = {"cpu": CPUDriver, "cuda": CUDADriver, "nvidia": CUDADriver}


def default_driver():
    """A GPU if there is one, unless TRITON_DEFAULT_BACKEND=cpu."""
    wanted = os.environ.get("TRITON_DEFAULT_BACKEND") or ("cpu" if _core.switch_of(os.environ.get("TRITON_CPU_BACKEND", "")) else "")
    if wanted and wanted not in _BY_NAME:
        raise RuntimeError(f"TRITON_DEFAULT_BACKEND={wanted}: Unknown backend device '{wanted}'. There are 'cpu' and 'cuda'")
    return _BY_NAME[wanted]() if wanted else CUDADriver() if CUDADriver.is_active() else CPUDriver()


# ---- for drivers of other machines, whose launchers take the values of a descriptor one by one


def _is_descriptor(kind):
    return isinstance(kind, str) and kind.startswith("tensordesc")


def expand_signature(signature, tensordesc_meta, descriptor_type):
    """The signature with each descriptor replaced by the values that a launcher takes: a pointer, 64-bit sizes and strides and two switches; or, for
    a descriptor with an entry in `tensordesc_meta`, one value of `descriptor_type`, then 32-bit sizes and 64-bit strides."""
    metas = iter(tensordesc_meta or ())

    def expand(kinds):
        for kind in kinds:
            if isinstance(kind, tuple):
                yield tuple(expand(kind))
            elif _is_descriptor(kind):
                element, shape, rest = re.fullmatch(r"tensordesc\w*<(\w+)\[([^\]]*)\](.*)>", kind).groups()
                given = re.search(r"input_rank=(\d+)", rest)
                rank = int(given[1]) if given else len(shape.split(","))
                whole = ["*" + element, *["i64"] * (2 * rank), "i1", "i1"] if next(metas, None) is None else [descriptor_type]
                yield from (*whole, *["i32"] * rank, *["i64"] * rank)
            else:
                yield kind

    return list(expand(signature))


def decompose_descriptor(descriptor):
    """The values of a descriptor for which a machine has no type, in the order of `expand_signature`."""
    return [descriptor.base, *descriptor.shape, *descriptor.strides, descriptor.padding == "nan", descriptor.round_f32_to_tf32, *descriptor.shape,
            *descriptor.strides]


def wrap_handle_tensordesc_impl(launcher, signature, tensordesc_meta, make_tensordesc_arg):
    """A launcher that takes descriptors and calls `launcher` with the values that `make_tensordesc_arg(descriptor, meta, other arguments)` makes of each.
    The kernel's arguments are the last argument of both launchers."""
    def has_one(kinds):
        return any(has_one(kind) if isinstance(kind, tuple) else _is_descriptor(kind) for kind in kinds)

    if not has_one(signature.values()):
        return launcher

    def wrapped(*args):
        *before, given = args
        metas = iter(tensordesc_meta or ())

        def expand(kinds, values):
            for kind, value in zip(kinds, values):
                if isinstance(kind, tuple):
                    yield tuple(expand(kind, value))
                elif _is_descriptor(kind):
                    yield from make_tensordesc_arg(value, next(metas, None), before)
                else:
                    yield value

        return launcher(*before, list(expand(signature.values(), given)))

    return wrapped
