import triton
import triton.language as tl


@triton.autotune(configs="auto", key=["n"])
@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)


# The result is right only if the block is as long as the row.
@triton.autotune(configs="auto", key=["n"])
@triton.jit
def whole_row(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr, tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), axis=0))
