"""The host code that all examples share: random inputs, tolerances, checks, timing and the printed table.

A kernel is correct if it agrees with a float64 reference. The tolerance depends on the precision of the element type, and on the
number of terms in a sum, because rounding errors grow with its square root. One table holds the tolerances of all examples.
"""

import sys
import time
from dataclasses import dataclass, field

import numpy as np

try:
    from ml_dtypes import bfloat16
except ImportError:  # NumPy alone has no bfloat16; the cases that need it are skipped
    bfloat16 = None

# Allowed error of one rounded result, by the inputs' element type. Integer results are exact; "int8" is for results
# that are scaled to fp32.
TOLERANCE = {"fp64": 1e-12, "fp32": 1e-5, "fp16": 1e-2, "bf16": 1e-2, "int8": 1e-5}

DTYPES = {"fp64": np.float64, "fp32": np.float32, "fp16": np.float16, "int32": np.int32, "int8": np.int8}
if bfloat16 is not None:
    DTYPES["bf16"] = bfloat16

ROW = "{:<24} {:<22} {:<5} {:>9} {:>11} {:>14}"


@dataclass
class Case:
    """One row of the table: inputs of a size and dtype, and the work of a call."""

    size: str
    dtype: str
    args: list
    terms: int = 1  # the terms in the sum of each result
    flops: float = 0.0  # arithmetic of one call, or
    bytes: float = 0.0  # memory traffic of one call
    options: dict = field(default_factory=dict)


@dataclass
class Result:
    kernel: str
    case: Case
    error: float
    ok: bool
    milliseconds: float = 0.0

    def rate(self):
        if not self.milliseconds:
            return ""
        if self.case.flops:
            return f"{self.case.flops / self.milliseconds / 1e6:.1f} GFLOP/s"
        return f"{self.case.bytes / self.milliseconds / 1e6:.1f} GB/s"

    def line(self):
        check = "ok" if self.ok else "WRONG"
        took = f"{self.milliseconds:.3f} ms" if self.milliseconds else ""
        return ROW.format(self.kernel, self.case.size, self.case.dtype, check, took, self.rate())


def randn(*shape, dtype="fp32", seed=0):
    """Standard normal numbers. Zeros and constants would make speed and accuracy look too good."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape, dtype=np.float32).astype(DTYPES[dtype], copy=False)


# The wrappers of kernels take NumPy arrays and PyTorch tensors. These functions hide the differences.


def strides(array):
    """Strides in elements, not in bytes."""
    if hasattr(array, "stride"):
        return tuple(array.stride())
    return tuple(step // array.itemsize for step in array.strides)


def is_contiguous(array):
    return array.is_contiguous() if hasattr(array, "is_contiguous") else array.flags.c_contiguous


def has_plain_rows(array):
    """True if the elements of each row are contiguous."""
    return array.shape[-1] < 2 or strides(array)[-1] == 1


def empty(shape, like, dtype=None):
    """An array or tensor like `like`, with its dtype or a dtype of DTYPES."""
    if hasattr(like, "new_empty"):
        torch = sys.modules[type(like).__module__.partition(".")[0]]
        return like.new_empty(shape, dtype=like.dtype if dtype is None else getattr(torch, np.dtype(DTYPES[dtype]).name))
    return np.empty(shape, like.dtype if dtype is None else DTYPES[dtype])


def like(array, other):
    """A NumPy array; as a tensor on the device of `other`, if that is a tensor."""
    return sys.modules[type(other).__module__.partition(".")[0]].from_numpy(array).to(other.device) if hasattr(other, "new_empty") else array


def launch_threads():
    """The number of threads of a launch on the CPU."""
    from triton.backends.driver import CPUDriver

    return CPUDriver().utils.get_device_properties()["multiprocessor_count"]


def is_on_gpu(array):
    return getattr(getattr(array, "device", None), "type", "cpu") == "cuda"


def has_clusters(array):
    """True if the array is on a GPU with thread block clusters (Hopper or later)."""
    return is_on_gpu(array) and sys.modules["torch"].cuda.get_device_capability(array.device) >= (9, 0)


def has_tensor_memory(array):
    """True if the array is on a GPU with tensor memory (B200, B300, Thor)."""
    return is_on_gpu(array) and sys.modules["torch"].cuda.get_device_capability(array.device)[0] in (10, 11)


def num_sms(array):
    """The number of SMs of the tensor's GPU. For arrays in CPU memory, a number that no launch reaches."""
    if not is_on_gpu(array):
        return 1 << 30
    return sys.modules["torch"].cuda.get_device_properties(array.device).multi_processor_count


def warps_for(block):
    """Warps for a tile of one row. Rows longer than 32768 have several CTAs: with few warps in each, two CTAs fit on an SM.
    For rows of 1024, two warps are enough, and more CTAs fit (H200: layer norm 2875 GB/s instead of 2787, softmax 3644 instead of 3619)."""
    return 16 if block == 32768 else 2 if block <= 1024 else 4


def worst_error(actual, expected, dtype, terms):
    """The largest error divided by the allowed error; at most 1 passes."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        return float("inf")
    if actual.size == 0:
        return 0.0
    if np.issubdtype(actual.dtype, np.integer):
        return 0.0 if np.array_equal(actual, expected) else float("inf")
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    if not np.array_equal(actual[~finite], expected[~finite], equal_nan=True) or not np.isfinite(actual[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    allowed = TOLERANCE[dtype] * (np.sqrt(terms) + np.abs(expected[finite]))
    return float(np.max(np.abs(actual[finite] - expected[finite]) / allowed))


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def time_ms(call, seconds=0.3):
    """Median of repeated calls after a warm-up call, in milliseconds."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    samples = []
    for _ in range(int(min(max(seconds / once, 3), 200))):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    return float(np.median(samples)) * 1e3


def run(kernel, kernel_fn, reference_fn, cases, quick):
    """Checks every case against the reference, times the last (largest) case of each dtype that has `flops` or `bytes`, prints and returns the rows."""
    cases = list(cases)
    timed = {case.dtype: index for index, case in enumerate(cases) if case.flops or case.bytes}
    results = []
    for index, case in enumerate(cases):
        actual = kernel_fn(*case.args, **case.options)
        expected = reference_fn(*case.args, **case.options)
        error = max(worst_error(a, e, case.dtype, case.terms) for a, e in zip(as_tuple(actual), as_tuple(expected)))
        result = Result(kernel, case, error, error <= 1)
        if result.ok and not quick and timed.get(case.dtype) == index:
            result.milliseconds = time_ms(lambda: kernel_fn(*case.args, **case.options, out=actual))
        print(result.line(), flush=True)
        results.append(result)
    return results


def main(run_example):
    """The `__main__` of an example: runs it, and exits with 1 if a result is wrong. `--quick` checks small sizes only."""
    print(ROW.format("kernel", "size", "dtype", "check", "time", "rate"))
    sys.exit(0 if all(result.ok for result in run_example("--quick" in sys.argv)) else 1)
