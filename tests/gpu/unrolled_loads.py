"""LLVM unrolls loops that only load and compute: the loads of several iterations are in flight. Loops that store or synchronize stay, and those whose
assembly has a label."""
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,out=*fp32:16,ROWS=256,BLOCK=512' | FileCheck %s --check-prefix=KNOWN
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,out=*fp32:16,ROWS=16,BLOCK=512' | FileCheck %s --check-prefix=FULL
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,out=*fp32:16,ROWS=i32,BLOCK=512' | FileCheck %s --check-prefix=RUNTIME
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,out=*fp32:16,ROWS=256,BLOCK=512' | FileCheck %s --check-prefix=STORES
# RUN: tilewright compile %s --kernel labeled --target cuda:sm_90a --emit ptx --signature 'x=*i32:16,out=*i32:16,ROWS=256,BLOCK=128' | FileCheck %s --check-prefix=STORES
# RUN: tilewright compile %s --kernel means --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,out=*fp32:16,ROWS=32,BLOCK=512' | FileCheck %s --check-prefix=MEANS
import triton
import triton.language as tl


# 256 iterations are too many to become one: eight loads of four registers are one iteration.
# KNOWN: $L__BB0_[[LOOP:[0-9]+]]:
# KNOWN-COUNT-8: ld.global
# KNOWN-NOT: ld.global
# KNOWN: bra $L__BB0_[[LOOP]]
# 16 iterations become straight code.
# FULL-NOT: $L__BB0
# FULL-COUNT-16: ld.global
# FULL-NOT: ld.global
# A second loop has the iterations that are left.
# RUNTIME-COUNT-9: ld.global
# RUNTIME-NOT: ld.global
@triton.jit
def columns(x, out, ROWS, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(ROWS):
        total += tl.load(x + row * BLOCK + at)
    tl.store(out + at, total)


# STORES-COUNT-1: ld.global
# STORES-NOT: ld.global
@triton.jit
def scaled(x, out, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in range(ROWS):
        tl.store(out + row * BLOCK + at, tl.load(x + row * BLOCK + at) * 2)


@triton.jit
def labeled(x, out, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    for row in range(ROWS):
        v = tl.load(x + row * BLOCK + at)
        total += tl.inline_asm_elementwise("mov.b32 $0, $1; again: and.b32 $0, $0, 255;", "=r,r", [v], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(out + at, total)


# The number of rows so far is a constant in each of 32 iterations once they have code of their own, so all of them become straight code.
# MEANS-NOT: $L__BB0
# MEANS-COUNT-32: ld.global
# MEANS-NOT: ld.global
@triton.jit
def means(x, out, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    mean = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.float32)
    for row in range(ROWS):
        count += 1
        mean += (tl.load(x + row * BLOCK + at) - mean) * count
    tl.store(out + at, mean)
