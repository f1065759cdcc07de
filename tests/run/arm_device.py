"""The tests' CPU engine for 64-bit ARM on another machine: each launch is compiled ahead of time and runs under qemu-aarch64.

    pytest tests/run --arm neon         armv8, neon, neon-dot, sve or sve256

    out = np.zeros(...);  kernel[grid](x, out)                           the test's code
    compile an object;  copy x and out to shared memory;  run;  copy back   the actions

The code is that of objects, which makes no assumptions about launches. One emulated process runs all launches: tests/run/arm_worker.c.
"""

import atexit
import contextlib
import ctypes
import functools
import hashlib
import pathlib
import shutil
import struct
import subprocess
import tempfile
import threading

import numpy as np
import pytest
from gpu_device import bounds, root_of

import tilewright

PREFIX = "aarch64-linux-gnu-"
CPU = {"sve": "max,sve128=on,sve256=off,sve512=off", "sve256": "max,sve256=on,sve512=off"}
FORMATS = {"fp32": "<f", "fp64": "<d", "fp16": "<e"}


def missing():
    """The programs that are not installed."""
    return [program for program in ("qemu-aarch64", PREFIX + "gcc") if shutil.which(program) is None]


class AssertionFailed(RuntimeError):
    pass


def assertion_text(x, y, z, element, given):
    """The message of a failed assertion, as src/codegen/host_calls.cpp makes it: `given` has the tile's extents, the location and the text."""
    given, element, numbers = bytes.fromhex(given).decode(), int(element), []
    extents, _, rest = given.partition(";")
    location, _, message = rest.partition("\n")
    for extent in map(int, reversed(extents.split(",")[1:])):
        numbers.insert(0, f"{element % extent:>{len(str(extent - 1))}}")
        element //= extent
    text = f"{location}: " * bool(location) + f"program ({x}, {y}, {z}): device-side assertion failed"
    return text + f" at element ({', '.join(numbers)})" * bool(numbers) + f": {message}" * bool(message)


class Worker:
    """The emulated process, and the memory that it shares with this one."""

    def __init__(self, level):
        self.level = level
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="arm-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.program, self.memory = self.folder / "worker", self.folder / "memory"
        self.memory.touch()
        source = pathlib.Path(__file__).with_name("arm_worker.c")
        subprocess.run([PREFIX + "gcc", "-O1", "-rdynamic", source, "-o", self.program, "-ldl"], check=True)
        self.process, self.loaded = None, {}
        self.lock = threading.Lock()  # threads of a test launch one after another: the shared memory has the buffers of one launch

    def ask(self, request):
        """The answer's words. An emulated process that has ended is an error of this launch alone."""
        if self.process is None or self.process.poll() is not None:
            self.loaded = {}
            words = ["qemu-aarch64", "-cpu", CPU.get(self.level, "max"), "-L", "/usr/aarch64-linux-gnu", self.program, self.memory]
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            atexit.register(self.process.kill)
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        word, _, rest = self.process.stdout.readline().partition(" ")
        if word.strip() == "assert":
            raise AssertionFailed(assertion_text(*rest.split()))
        if word.strip() != "ok":
            raise RuntimeError(f"the emulated program ended with status {self.process.wait()}")
        return rest.strip()

    def entry(self, code, name):
        """The address of a kernel's entry in the process."""
        key = hashlib.sha256(code.encode()).hexdigest()[:24]
        if self.process is not None and self.process.poll() is None and key in self.loaded:
            return self.loaded[key]
        library = self.folder / f"{key}.so"
        if not library.exists():
            # GNU's assembler reads no attribute of the code: it accepts all instructions of the newest version.
            words = [PREFIX + "gcc", "-shared", "-x", "assembler", "-Wa,-march=armv8.6-a+sve", "-", "-o", library, "-lm"]
            subprocess.run(words, input=code + f"\n.globl {name}\n", text=True, check=True)
        address = self.ask(f"load {library} {name}")
        self.loaded[key] = address
        return address


class Memory:
    """Copies of a launch's buffers in the shared memory."""

    def __init__(self, path):
        self.path, self.buffers, self.end = path, {}, 64

    def offset(self, array):
        low, high = bounds(root_of(array))
        if low not in self.buffers:
            # The copy has the same alignment as the original, because kernels are specialized on alignment.
            start = self.end + (low - self.end) % 64
            self.buffers[low] = start, high - low, root_of(array).flags.writeable
            self.end = start + high - low + 64
        return self.buffers[low][0] + array.__array_interface__["data"][0] - low

    @contextlib.contextmanager
    def filled(self):
        with open(self.path, "r+b") as file:
            file.truncate(max(self.end, 1 << 16))
            for low, (start, size, _) in self.buffers.items():
                file.seek(start)
                file.write(ctypes.string_at(low, size))
        yield
        with open(self.path, "rb") as file:
            for low, (start, size, writeable) in self.buffers.items():
                file.seek(start)
                if writeable and size:
                    ctypes.memmove(low, file.read(size), size)


def passed(types, values, constants, path=()):
    """(type, value) of everything that a launch passes: constants are a part of the code."""
    for index, (kind, value) in enumerate(zip(types, values)):
        here = path + (index,)
        if isinstance(kind, (tuple, list)):
            yield from passed(kind, value, constants, here)
        elif kind is not None and here not in constants:
            yield kind, value


def word(kind, value, memory):
    if kind.startswith("*"):
        base = getattr(value, "base", None)
        array = value if isinstance(value, np.ndarray) else base
        if value is None:
            return "v0"
        if not isinstance(array, np.ndarray):
            pytest.skip("an address without its array cannot be copied to the emulated process")
        return f"p{memory.offset(array):x}"
    if kind == "bf16":
        return f"v{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:x}"
    if kind in FORMATS:
        bits = struct.pack(FORMATS[kind], value)
        return f"v{int.from_bytes(bits, 'little'):x}"
    if kind[0] not in "iu":
        pytest.skip(f"arguments of type {kind} are not copied to the emulated process")
    return f"v{int(value) & (2**64 - 1):x}"


def launch(worker, kernel, grid, *args, **kwargs):
    compiled = kernel._describe(*args, **kwargs)
    if grid is None:
        return compiled
    types, constants, _ = compiled.description
    values = kernel._bind(*args, **kwargs)
    code = compiled.standalone(worker.level, "programs")
    if callable(grid):
        grid = grid(values)
    grid = [*(grid if isinstance(grid, (tuple, list)) else [grid]), 1, 1][:3]
    memory = Memory(worker.memory)
    words = [word(kind, value, memory) for kind, value in passed(types, values.values(), constants)]
    with worker.lock, memory.filled():
        if all(extent > 0 for extent in grid):
            entry = worker.entry(code["code"], code["entry"])
            numbers = [*(f"{int(extent):x}" for extent in grid), f"{code['arena_bytes']:x}", f"{len(words):x}"]
            worker.ask(" ".join(["run", entry, *numbers, *words]))
    return compiled


@functools.cache
def worker_for(level):
    return Worker(level)


@contextlib.contextmanager
def engine(level):
    """Within it, all launches run on an emulated CPU of this level."""
    kind = tilewright.JITFunction
    kind.launch = lambda kernel, grid, *args, **kwargs: launch(worker_for(level), kernel, grid, *args, **kwargs)
    kind.__getitem__ = lambda kernel, grid: functools.partial(kernel.run, grid=grid, warmup=False)
    try:
        yield
    finally:
        del kind.launch, kind.__getitem__
