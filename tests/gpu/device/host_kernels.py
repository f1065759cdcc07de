"""Small kernels for the tests of host code."""

import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * FACTOR, mask=at < n)


@triton.jit
def square_matmul_kernel(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


@triton.jit
def wild_kernel(out_ptr, n, far):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(out_ptr + far + at, 1.0, mask=at < n)


@triton.jit
def meeting_kernel(values_ptr, arrived_ptr, out_ptr, programs):
    """Every program waits until all have arrived, then adds up the values that all have written."""
    program = tl.program_id(0)
    tl.atomic_xchg(values_ptr + program, program + 1)
    arrived = tl.atomic_add(arrived_ptr, 1)
    while arrived < programs:
        arrived = tl.atomic_add(arrived_ptr, 0)
    at = tl.arange(0, 256)
    values = tl.load(values_ptr + at, mask=at < programs, other=0, volatile=True)
    tl.store(out_ptr + program, tl.sum(values))


@triton.jit
def print_kernel(x_ptr):
    at = tl.arange(0, 4)
    tl.device_print("value", tl.load(x_ptr + at))


@triton.jit
def assert_kernel(x_ptr, out_ptr):
    at = tl.arange(0, 128)
    x = tl.load(x_ptr + at)
    tl.device_assert(x < 100, "x is large")
    tl.store(out_ptr + at, x)
