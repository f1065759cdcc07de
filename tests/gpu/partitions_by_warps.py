"""Warp specialization in kernels with one, two and four warp groups: only kernels with two get it without a request."""
# RUN: tilewright explain %s --kernel asked --target cuda:sm_90a --num-warps 4 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=64,N=128' | FileCheck %s --check-prefix=HAS
# RUN: tilewright explain %s --kernel asked --target cuda:sm_90a --num-warps 16 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=256,N=128' | FileCheck %s --check-prefix=HAS
# RUN: tilewright explain %s --kernel asked --target cuda:sm_90a --num-warps 4 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=64,N=256' | FileCheck %s --check-prefix=WIDE
# RUN: tilewright explain %s --kernel two --target cuda:sm_90a --num-warps 16 --num-stages 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,d=*fp16:16,k=i32:16' | FileCheck %s --check-prefix=LARGE
# RUN: tilewright explain %s --kernel asked --target cuda:sm_90a --num-warps 32 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=256,N=128' | FileCheck %s --check-prefix=MANY
# RUN: tilewright explain %s --kernel plain --target cuda:sm_90a --num-warps 4 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=64,N=128' | FileCheck %s --check-prefix=ONE
# RUN: tilewright explain %s --kernel plain --target cuda:sm_90a --num-warps 16 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=256,N=128' | FileCheck %s --check-prefix=FOUR
# RUN: not tilewright explain %s --kernel asked --target cuda:sm_90a --num-warps 12 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=64,N=128' 2>&1 | FileCheck %s --check-prefix=TWELVE
# Both kinds of warps together have as many registers as a CTA starts with.
# RUN: tilewright compile %s --kernel asked --target cuda:sm_90a --num-warps 4 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=64,N=128' --emit ptx | FileCheck %s --check-prefix=PTX4
# RUN: tilewright compile %s --kernel asked --target cuda:sm_90a --num-warps 16 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,M=256,N=128' --emit ptx | FileCheck %s --check-prefix=PTX16

import triton
import triton.language as tl

# HAS: 1 warp for copies
# WIDE: no warp specialization: the accumulators of an MMA do not fit in the 128 registers per thread at the start of a CTA
# LARGE: no warp specialization: its accumulators do not fit in 112 registers per thread
# MANY: no warp specialization: it needs num_warps of 4, 8 or 16
# ONE: no warp specialization: a single warpgroup has no other one to overlap with
# FOUR: no warp specialization: with so many warpgroups, none gains enough registers
# TWELVE: num_warps must be a power of 2, not 12

# PTX4: .reqntid 256
# PTX4: .minnctapersm 2
# PTX4: setmaxnreg.dec.sync.aligned.u32 24
# PTX4: setmaxnreg.inc.sync.aligned.u32 232
# PTX16: .reqntid 640
# PTX16: .minnctapersm 1
# PTX16: setmaxnreg.inc.sync.aligned.u32 112


@triton.jit
def asked(a, b, c, k, M: tl.constexpr, N: tl.constexpr):
    rows, columns, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 64)
    total = tl.zeros((M, N), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + (start + ks)[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def plain(a, b, c, k, M: tl.constexpr, N: tl.constexpr):
    rows, columns, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 64)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, k, 64):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + (start + ks)[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def two(a, b, c, d, k):
    rows, columns, ks = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total, other = tl.zeros((256, 128), tl.float32), tl.zeros((256, 64), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + (start + ks)[:, None] * 128 + columns[None, :])
        z = tl.load(b + (start + ks)[:, None] * 64 + ks[None, :])
        total = tl.dot(x, y, total)
        other = tl.dot(x, z, other)
    tl.store(c + rows[:, None] * 128 + columns[None, :], total.to(tl.float16))
    tl.store(d + rows[:, None] * 64 + ks[None, :], other.to(tl.float16))
