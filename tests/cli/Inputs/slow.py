import triton
import triton.language as tl


@triton.jit
def every_nth(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at * stride, mask=at < n)
    tl.store(out_ptr + at, x, mask=at < n)


@triton.jit
def causal_sum(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for row in range(0, at + 1):
        total += tl.load(x_ptr + row * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr + at * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def columns(x_ptr, out_ptr, rows, cols, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    x = tl.load(x_ptr + c[:, None] * rows + r[None, :] * cols)
    tl.store(out_ptr + r[None, :] * cols + c[:, None], x)


@triton.jit
def long_row(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + at, e / tl.sum(e, 0) + x)


@triton.jit
def locked(lock_ptr, x_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    if tl.load(x_ptr) == 0:
        tl.atomic_xchg(lock_ptr, 0)
