"""LLVM 22 cannot select SVE instructions for all vectors of a fixed size. bf16 is compared as fp32; the other kernel has registers of 16 bytes."""
# RUN: tilewright compile %s --kernel nonzero --signature '*bf16, *i1' --target cpu:sve256 --emit asm | FileCheck %s --check-prefix=NONZERO
# RUN: tilewright compile %s --kernel select --signature '*fp8e4nv, *fp16' --target cpu:sve256 --emit asm | FileCheck %s --check-prefix=SELECT

import triton
import triton.language as tl


# NONZERO-LABEL: nonzero.program:
# NONZERO: fcmne p{{.*}}, p{{.*}}/z, z{{.*}}.s, #0.0
@triton.jit
def nonzero(x_ptr, out_ptr):
    i = tl.arange(0, 16)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


# SELECT-LABEL: select.program:
# SELECT-NOT: ptrue p{{[0-9]+}}.s
# SELECT: ret
@triton.jit
def select(x_ptr, out_ptr):
    i = tl.arange(0, 8)
    a = tl.load(x_ptr + i * 2)
    b = tl.load(x_ptr + 8 - i)
    c = tl.minimum(tl.maximum(a * b - a, b), tl.abs(a))
    tl.store(out_ptr + i * 2, (c == b) | (c < a))
