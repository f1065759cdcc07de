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
