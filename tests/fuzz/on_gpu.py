"""Runs all launches of a program on this machine's GPU: all arrays are copied to the GPU in one piece, and back.

At each copy, launch or wait, another process may get the GPU. So each program has only one of each kind.
"""

import importlib.util
import pathlib

import numpy as np
import torch

from addresses import ROOM, WIDE, WIDE_STEP, wide_memory

SPACING, LINE = 1 << 12, 256  # bytes between two arrays, which nothing may write; each array starts at a multiple of LINE


def tests_of_language():
    """tests/run/gpu_device.py, which has the attributes of tensors that launches read."""
    path = pathlib.Path(__file__).resolve().parent.parent / "run" / "gpu_device.py"
    spec = importlib.util.spec_from_file_location("gpu_device", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


gpu_device = tests_of_language()


class Memory:
    """The arrays of some launches, on the host and on the GPU."""

    def __init__(self):
        self.size, self.places, self.wide = SPACING, {}, None

    def add(self, array):
        """Reserves space for the memory to which an array belongs."""
        root = gpu_device.root_of(array)
        if id(root) not in self.places and len(root) != WIDE:
            self.places[id(root)] = root, self.size
            self.size += (root.nbytes + SPACING + LINE - 1) // LINE * LINE

    def send(self):
        self.here = torch.zeros(self.size, dtype=torch.uint8)
        self.bytes = self.here.numpy()
        for root, start in self.places.values():
            self.bytes[start:start + root.nbytes] = root.view(np.uint8)
        self.before = self.bytes.copy()
        self.there = self.here.cuda()

    def tensor(self, array):
        """The argument with an address on the GPU."""
        root = gpu_device.root_of(array)
        if len(root) == WIDE:
            return gpu_device.OnGpu(array, wide_there().data_ptr())
        return gpu_device.OnGpu(array, self.there.data_ptr() + self.places[id(root)][1] + offset(array, root))

    def back(self):
        """Copies the arrays back. The bytes between the arrays must be unchanged."""
        self.bytes[:] = self.there.cpu().numpy()
        for root, start in self.places.values():
            self.before[start:start + root.nbytes] = self.bytes[start:start + root.nbytes]
        if not np.array_equal(self.before, self.bytes):
            raise RuntimeError(f"byte {np.flatnonzero(self.before != self.bytes)[0]} between the arrays was written to")

    def array(self, array):
        root = gpu_device.root_of(array)
        if len(root) == WIDE:
            return array
        start = self.places[id(root)][1] + offset(array, root)
        return self.bytes[start:start + array.nbytes].view(array.dtype)


def offset(array, root):
    return array.ctypes.data - root.ctypes.data


_wide = []


def wide_there():
    """The tensor on the GPU whose offsets do not fit in 32 bits."""
    if not _wide:
        whole, here = torch.empty(WIDE, dtype=torch.int8, device="cuda"), wide_memory()
        for start in range(0, 129 * WIDE_STEP, WIDE_STEP):
            whole[start:start + ROOM] = torch.from_numpy(here[start:start + ROOM].copy())
        _wide.append(whole)
    return _wide[0]


def has_room_for_wide():
    return bool(_wide) or torch.cuda.mem_get_info()[0] > WIDE + (4 << 30)


def run(kernel, grid, launches, options):
    """(the arguments after each launch, the compiled kernel of the first launch)."""
    memory = Memory()
    for launch in launches:
        for array in (launch.inputs | launch.outputs).values():
            memory.add(array)
    memory.send()
    compiled = []
    for launch in launches:
        arguments = {name: memory.tensor(array) for name, array in (launch.inputs | launch.outputs).items()}
        compiled.append(kernel[grid](**arguments, **launch.scalars, **options))
    torch.cuda.synchronize()
    memory.back()
    return [{name: memory.array(array) for name, array in (launch.inputs | launch.outputs).items()} for launch in launches], compiled[0]
