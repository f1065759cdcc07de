# RUN: tilewright compile %s --kernel scalar --signature '*i32' --target cpu:neon --emit asm | FileCheck %s --check-prefix=SCALAR
# RUN: tilewright compile %s --kernel vector --signature '*fp32' --target cpu:neon --emit asm | FileCheck %s --check-prefix=VECTOR
# RUN: not tilewright compile %s --kernel of_x86 --signature '*i32' --target cpu:neon --emit asm 2>&1 | FileCheck %s --check-prefix=REGISTER
# RUN: not tilewright compile %s --kernel of_ptx --signature '*i32' --target cpu:neon --emit asm 2>&1 | FileCheck %s --check-prefix=PTX
import triton
import triton.language as tl


# SCALAR: rbit w
@triton.jit
def scalar(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.inline_asm_elementwise("rbit ${0:w}, ${1:w}", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1))


# VECTOR: frecpe v{{[0-9]+}}.4s
@triton.jit
def vector(x):
    i = tl.arange(0, 64)
    y = tl.inline_asm_elementwise("frecpe $0.4s, $1.4s", "=w,w", [tl.load(x + i)], dtype=tl.float32, is_pure=True, pack=4)
    tl.store(x + i, y)


# REGISTER: error: {{.*}}names no register of this target that can hold i32
@triton.jit
def of_x86(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.inline_asm_elementwise("bswapl $0", "={eax},0", [i], dtype=tl.int32, is_pure=True, pack=1))


# PTX: error: this is PTX
@triton.jit
def of_ptx(x):
    i = tl.arange(0, 64)
    tl.store(x + i, tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1))
