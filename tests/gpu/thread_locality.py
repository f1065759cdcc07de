"""A loop that only accumulates reductions of a tile carries per-thread sums: its body has no shuffle and no barrier. One reduction after the loop
adds them to the initial value. A sum that the loop reads stays in it."""
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --until optimize-thread-locality --signature 'x=*fp32:16,o=*fp32:16,M=i32,N=i32:16' --num-warps 8 | FileCheck %s --check-prefix=TILES
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,o=*fp32:16,M=i32,N=i32:16' --num-warps 8 | FileCheck %s --check-prefix=LOOP
# RUN: tilewright compile %s --kernel vector --target cuda:sm_90a --emit ptx --signature 'w=*fp16:16,x=*fp16:16,o=*fp32:16,K=i32:16' | FileCheck %s --check-prefix=LOOP
# RUN: tilewright compile %s --kernel total --target cuda:sm_90a --emit ptx --signature 'x=*i32:16,o=*i32:16,n=i32:16' | FileCheck %s --check-prefix=LOOP
# RUN: tilewright compile %s --kernel looked_at --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,o=*fp32:16,n=i32:16' | FileCheck %s --check-prefix=INSIDE
# RUN: tilewright compile %s --kernel vector --target cuda:sm_90a --numerics strict --emit ptx --signature 'w=*fp16:16,x=*fp16:16,o=*fp32:16,K=i32:16' | FileCheck %s --check-prefix=INSIDE

import triton
import triton.language as tl


# The registers' part of 128 rows is summed in the loop; 16 rows, of two lanes and eight warps, are carried.
# TILES: scf.for
# TILES: "tt.reduce"
# TILES: tensor<16x64xf32
# TILES-NOT: "tt.reduce"
# TILES: scf.yield
# TILES: "tt.reduce"
# TILES: tt.store

# LOOP: {{^}}$L__BB0_
# LOOP-NOT: {{bar.sync|shfl|redux}}
# LOOP: bra
# LOOP: {{bar.sync|shfl|redux}}
@triton.jit
def columns(x, o, M, N):
    n, m, acc = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 128), tl.full((64,), 3.0, tl.float32)
    for start in range(0, M, 128):
        acc += tl.sum(tl.load(x + (start + m)[:, None] * N + n[None, :]), 0)
    tl.store(o + n, acc)


@triton.jit
def vector(w, x, o, K):
    n, k, acc = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, 128), tl.zeros((16,), tl.float32)
    for start in range(0, K, 128):
        row = tl.load(x + start + k).to(tl.float32)
        acc += tl.sum(tl.load(w + n[:, None] * K + (start + k)[None, :]).to(tl.float32) * row[None, :], 1)
    tl.store(o + n, acc)


@triton.jit
def total(x, o, n):
    sum = 7
    for start in range(0, n, 1024):
        sum += tl.sum(tl.load(x + start + tl.arange(0, 1024)))
    tl.store(o, sum)


# INSIDE: {{^}}$L__BB0_
# INSIDE: {{bar.sync|shfl|redux}}
# INSIDE: bra
@triton.jit
def looked_at(x, o, n):
    sum = 0.0
    for start in range(0, n, 1024):
        sum += tl.sum(tl.load(x + start + tl.arange(0, 1024)))
        tl.store(o + start, sum)
