"""Packed values for a dot by mma.sync are loaded an iteration before they are unpacked. They are not with one stage, nor if the accumulators and
operands take the registers."""
# RUN: tilewright compile %s --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i32:16,o=*fp16:16,N=i32:16,K=i32:16' --num-stages 3 | FileCheck %s --check-prefix=AHEAD
# RUN: tilewright compile %s --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i32:16,o=*fp16:16,N=i32:16,K=i32:16' --num-stages 1 | FileCheck %s --check-prefix=ONE
# RUN: tilewright compile %s --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i32:16,o=*fp16:16,N=i32:16,K=i32:16,M=64' --num-warps 1 --num-stages 3 | FileCheck %s --check-prefix=ONE
# RUN: tilewright run %s --arg 'a=randn:f16[16,256]' --arg 'q=arange:i32[32,64]' --arg 'o=empty:f16[16,64]' --arg N=64 --arg K=256 --grid 1 --simulate --out o=%t.npy
# RUN: tilewright run %s --arg 'a=randn:f16[16,256]' --arg 'q=arange:i32[32,64]' --arg 'o=empty:f16[16,64]' --arg N=64 --arg K=256 --grid 1 --check o=%t.npy

import triton
import triton.language as tl


# AHEAD: tt.load
# AHEAD: scf.for
# AHEAD: tt.load
# AHEAD: arith.shrsi
# AHEAD: tt.dot
# AHEAD-NOT: tt.load
# ONE-NOT: tt.load
# ONE: scf.for
# ONE: tt.load
# ONE: tt.dot
@triton.jit
def k(a, q, o, N, K, M: tl.constexpr = 16):
    m, n, k, acc = tl.arange(0, M), tl.arange(0, 64), tl.arange(0, 64), tl.zeros((M, 64), tl.float32)
    for start in range(0, K, 64):
        at = start + k
        bits = tl.load(q + (at // 8)[:, None] * N + n[None, :]) >> (at % 8 * 4)[:, None]
        acc = tl.dot(tl.load(a + m[:, None] * K + at[None, :]), ((bits & 15) - 8).to(tl.float16), acc)
    tl.store(o + m[:, None] * N + n[None, :], acc.to(tl.float16))
