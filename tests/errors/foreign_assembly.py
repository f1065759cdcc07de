# RUN: not tilewright compile %s --kernel k --signature '*i32' --emit obj -o %t.o 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x):
    i = tl.arange(0, 64)
    # CHECK: :[[#@LINE+1]]:9: error: this is PTX, the assembly of NVIDIA GPUs, but the kernel is compiled for a CPU
    y = tl.inline_asm_elementwise("{ .reg .b32 a; mov.b32 $0, $1; }", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + i, y)
