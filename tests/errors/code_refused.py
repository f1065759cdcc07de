# RUN: not tilewright compile %s --signature '*i32' --target cpu --emit obj -o %t.o 2>&1 | FileCheck %s
# CHECK: error: LLVM rejects the code of this kernel: <inline asm>:1:2: invalid instruction mnemonic 'frobnicate'
# CHECK: help: if the kernel has inline assembly, check it
import triton
import triton.language as tl


@triton.jit
def k(x):
    i = tl.arange(0, 64)
    y = tl.inline_asm_elementwise("frobnicate $0, $1", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + i, y)
