# RUN: not tilewright compile %s --kernel k --signature '*i32' --emit obj -o %t.o 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x):
    i = tl.arange(0, 64)
    # CHECK: :[[#@LINE+1]]:9: error: this assembly has 1 output and 2 input operands, but its constraints '=r,r' name 1 output and 1 input
    y = tl.inline_asm_elementwise("movl $1, $0", "=r,r", [i, i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + i, y)
