"""Kernels of a module that other processes import, too."""

import tilewright as triton
import tilewright.language as tl


class Memory:
    """A tensor as descriptors ask for it: of 4x4 int32 at an address that exists in no process."""

    shape, dtype = (4, 4), tl.int32

    def data_ptr(self):
        return 64

    def stride(self):
        return (4, 1)

    def element_size(self):
        return 4

    def __repr__(self):
        return "Memory()"


def before(named):
    named["x"] = None


@triton.jit
def scale(x_ptr, out_ptr, n, factor: float = 2.0, BLOCK: tl.constexpr = tl.constexpr(16)):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


@triton.autotune([triton.Config({"BLOCK": 16})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 1, mask=at < n)


@triton.constexpr_function
def twice(n):
    return 2 * n


@triton.aggregate
class Pair:
    first: tl.constexpr
    second: tl.constexpr


def pair():
    return Pair(1, 2)


def made_here(value):
    """The name of a value's class as this process has it, and its text."""
    return f"{type(value).__module__}.{type(value).__qualname__}", repr(value)


def launched(kernel):
    """Sums what `scale` has made of 20 numbers in this process."""
    import numpy as np
    out = np.zeros(20, np.float32)
    kernel[(2,)](np.arange(20, dtype=np.float32), out, 20, 3.0)
    return float(out.sum())
