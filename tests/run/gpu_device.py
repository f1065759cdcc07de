"""The tests' engine "cuda": kernels get NumPy arrays and run on the GPU.

    out = np.zeros(...);  kernel[grid](x, out)      the test's code
    copy x and out to the GPU;  launch;  copy back  the actions

Whole buffers are copied, not views: a kernel may reach more of an array than the view it was given, and two arguments may be one array.
"""

import contextlib
import copy
import ctypes
import functools
import importlib.util
from types import SimpleNamespace

import numpy as np

import tilewright


def is_there():
    """Whether this machine has a GPU on which kernels run, and PyTorch for the copies."""
    if tilewright.runtime.driver.active.get_current_target().backend != "cuda" or importlib.util.find_spec("torch") is None:
        return False
    import torch

    return torch.cuda.is_available()


def root_of(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def bounds(array):
    """The first and the last address of an array's elements, and the size of one."""
    start = array.__array_interface__["data"][0]
    steps = [(extent - 1) * stride for extent, stride in zip(array.shape, array.strides)] if array.size else []
    return start + sum(min(step, 0) for step in steps), start + sum(max(step, 0) for step in steps) + (array.itemsize if array.size else 0)


class OnGpu:
    """The attributes of a tensor that launches read."""

    def __init__(self, array, address):
        self.dtype, self.shape, self.address = array.dtype, array.shape, address
        self.device = SimpleNamespace(type="cuda", index=0)

    def data_ptr(self):
        return self.address


class Copies:
    """Copies of the host's buffers, on the GPU for one launch."""

    def __init__(self):
        self.buffers = {}

    def move(self, value):
        """The argument with an address on the GPU."""
        if isinstance(value, np.ndarray):
            return self.tensor(value)
        if isinstance(value, (tuple, list)):
            moved = [self.move(item) for item in value]
            return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
        if isinstance(getattr(value, "base", None), np.ndarray) and not isinstance(value, np.generic):  # a descriptor, a reinterpretation
            moved = copy.copy(value)
            moved.base = self.tensor(value.base)
            return moved
        return value

    def tensor(self, array):
        import torch

        low, high = bounds(root_of(array))
        if low not in self.buffers:
            host = np.ctypeslib.as_array((ctypes.c_uint8 * max(high - low, 1)).from_address(low)) if high > low else np.zeros(1, np.uint8)
            # The copy has the same alignment as the original, because kernels are specialized on alignment.
            whole = torch.empty(len(host) + 16, dtype=torch.uint8, device="cuda")
            there = whole[low % 16 : low % 16 + len(host)]
            there.copy_(torch.from_numpy(host.copy()))
            self.buffers[low] = host, there, root_of(array).flags.writeable
        there = self.buffers[low][1]
        return OnGpu(array, there.data_ptr() + array.__array_interface__["data"][0] - low)

    def back(self):
        for host, there, writeable in self.buffers.values():
            if writeable:
                host[:] = there.cpu().numpy()


def launch(kernel, grid, *args, **kwargs):
    import torch

    copies = Copies()
    args = [copies.move(value) for value in args]
    kwargs = {name: copies.move(value) for name, value in kwargs.items()}
    compiled = tilewright._core.Kernel.launch(kernel, grid, *args, **kwargs)
    torch.cuda.synchronize()
    copies.back()
    return compiled


@contextlib.contextmanager
def engine():
    """Within it, all launches run on the GPU."""
    kind = tilewright.JITFunction
    kind.launch = launch
    kind.__getitem__ = lambda kernel, grid: functools.partial(kernel.run, grid=grid, warmup=False)
    try:
        yield
    finally:
        del kind.launch, kind.__getitem__
