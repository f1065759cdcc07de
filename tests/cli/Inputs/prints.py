import triton
import triton.language as tl


@triton.jit
def told(x_ptr, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.device_print("at", at)
    tl.store(x_ptr + at, at)
