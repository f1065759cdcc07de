"""Atomics of 16-bit floats on a CPU without instructions that convert them: LLVM calls functions of the run-time library."""
# RUN: tilewright compile %s --signature '*fp16' --target cpu:sse2 --emit asm | FileCheck %s --check-prefix=HALF
# RUN: tilewright compile %s --signature '*bf16' --target cpu:sse2 --emit asm | FileCheck %s --check-prefix=BFLOAT
# RUN: env TILEWRIGHT_CPU=sse2 tilewright run %s --grid 8 --arg x_ptr=ones:f16[1] --print x_ptr | FileCheck %s --check-prefix=SUM
# RUN: env TILEWRIGHT_CPU=sse2 tilewright run %s --grid 8 --arg x_ptr=ones:bf16[1] --print x_ptr | FileCheck %s --check-prefix=SUM

import triton
import triton.language as tl


# HALF-DAG: __extendhfsf2
# HALF-DAG: __truncsfhf2
# BFLOAT: __truncsfbf2
# SUM: [5]
@triton.jit
def add_half(x_ptr):
    tl.atomic_add(x_ptr, 0.5)
