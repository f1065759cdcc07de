"""Chains of 64 operations, each of which has the one before it as both operands: a search that follows both takes 2^64 steps."""
# RUN: tilewright compile %s --kernel sums --num-warps 4 --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16,i32,64' | FileCheck %s
# RUN: tilewright compile %s --kernel sums --num-warps 4 --target cpu:avx2 --emit asm --signature '*fp32:16,*fp32:16,i32,64' | FileCheck %s --check-prefix=CPU
# RUN: tilewright compile %s --kernel shifts --num-warps 4 --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16,i32,1024' | FileCheck %s
# RUN: tilewright compile %s --kernel shifts --num-warps 4 --target cpu:avx2 --emit asm --signature '*fp32:16,*fp32:16,i32,1024' | FileCheck %s --check-prefix=CPU
# RUN: tilewright compile %s --kernel powers --num-warps 4 --target cuda:sm_90a --emit ptx --signature '*fp32:16,i32,1024' | FileCheck %s --check-prefix=POWERS

import triton
import triton.language as tl


# CHECK: ld.global
# CPU: ret
@triton.jit
def sums(x, y, n, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    row = i + n
    for _ in tl.static_range(64):
        row = row + row
    offset = i[:, None] * SIZE + i[None, :]
    tl.store(y + offset, tl.load(x + row[:, None] + offset))


@triton.jit
def shifts(x, y, n, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    first, offset = n, i
    for _ in tl.static_range(64):
        first = tl.minimum(first >> 1, first)
        offset = (offset + n) >> 1
    tl.store(y + i, tl.load(x + offset % 32 + first // 64, mask=i < n, other=0.0))


# POWERS: st.global
@triton.jit
def powers(y, n, SIZE: tl.constexpr):
    weight = tl.full([SIZE], 1.0, tl.float32)
    for _ in range(n):
        for _ in tl.static_range(64):
            weight = weight * weight
    tl.store(y + tl.arange(0, SIZE), weight)
