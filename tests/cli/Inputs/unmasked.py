import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 32, "MOST": 1000}), triton.Config({"BLOCK": 64, "MOST": 64})], key=[])
@triton.jit
def unmasked(x_ptr, out_ptr, n, BLOCK: tl.constexpr, MOST: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=(at < n) & (at < MOST))
