"""Divisions of indices that the launch guards of addresses show not to be negative become unsigned: elements of a thread share remainders."""
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until assume-no-wrap --signature 'x=*fp32:16,w=*fp32:16,o=*fp32:16,SHIFT=0' | FileCheck %s
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,w=*fp32:16,o=*fp32:16,SHIFT=0' | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until assume-no-wrap --signature 'x=*fp32:16,w=*fp32:16,o=*fp32:16,SHIFT=5' | FileCheck %s --check-prefix=SIGNED
# RUN: tilewright run %s --kernel scaled --interpret --grid 3 --arg 'x=randn:f32[3072]' --arg 'w=randn:f32[256]' --arg 'o=empty:f32[3072]' --arg SHIFT=5 --out o=%t.npy
# RUN: tilewright run %s --kernel scaled --simulate --grid 3 --arg 'x=randn:f32[3072]' --arg 'w=randn:f32[256]' --arg 'o=empty:f32[3072]' --arg SHIFT=5 --check o=%t.npy --rtol 0 --atol 0
# RUN: tilewright run %s --kernel scaled --interpret --grid 3 --arg 'x=randn:f32[3072]' --arg 'w=randn:f32[256]' --arg 'o=empty:f32[3072]' --arg SHIFT=0 --out o=%t.npy
# RUN: tilewright run %s --kernel scaled --simulate --grid 3 --arg 'x=randn:f32[3072]' --arg 'w=randn:f32[256]' --arg 'o=empty:f32[3072]' --arg SHIFT=0 --check o=%t.npy --rtol 0 --atol 0
# RUN: tilewright compile %s --kernel nested --target cuda:sm_90a --until assume-no-wrap --signature 'x=*fp32:16,o=*fp32:16' | FileCheck %s --check-prefix=NESTED
import triton
import triton.language as tl


# CHECK: arith.remui
# CHECK: arith.divui
# SIGNED: arith.remsi
# SIGNED: arith.divsi
# A thread holds eight elements, and both groups of four read the same weights: two loads of x and one of w.
# PTX-COUNT-3: ld.global.v4
# PTX-NOT: ld.global
@triton.jit
def scaled(x, w, o, SHIFT: tl.constexpr):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    shifted = i - SHIFT  # may be negative
    weight = tl.load(w + 128 + shifted % 64)
    tl.store(o + i, tl.load(x + i) * weight + (shifted // 512).to(tl.float32))


# Divisions of quotients: after a few, none becomes unsigned. The name of the assumption would double with each of them.
# NESTED: arith.divui
# NESTED: arith.divsi
@triton.jit
def nested(x, o):
    i = tl.program_id(0) * 512 + tl.arange(0, 512)
    at, total = i, tl.zeros((512,), tl.float32)
    for k in tl.static_range(80):
        at = (at * 3 + (at // 7) % 64 + i % (k + 3)) % 100000
        total += tl.load(x + at)
    tl.store(o + i, total)
