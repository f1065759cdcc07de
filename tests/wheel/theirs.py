"""A kernel of NVIDIA's Triton, compiled for a GPU without one."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def ptx(BLOCK=64):
    source = ASTSource(copy_kernel, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {(3,): BLOCK})
    return triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["ptx"]
