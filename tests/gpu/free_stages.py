"""Circular buffers deeper than num_stages, where no CTA fewer fits on an SM: so deep that copies of 32 KiB are in flight while one stage is read and the
next one has arrived. With 8 warps and 64 sums in each thread two CTAs share an SM, and have space for 4 stages of 16 KiB."""
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --until schedule-loops --num-warps 8 --num-stages 2 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,128,128,0' | FileCheck %s --check-prefix=TMA
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --until schedule-loops --num-warps 8 --num-stages 2 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,64,128,0' | FileCheck %s --check-prefix=FEWER
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --until schedule-loops --num-warps 8 --num-stages 1 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,128,128,0' | FileCheck %s --check-prefix=NONE
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --until schedule-loops --num-warps 8 --num-stages 2 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,128,128,2' | FileCheck %s --check-prefix=OWN
# RUN: tilewright compile %s --kernel mm --target cuda:sm_80 --until schedule-loops --num-warps 8 --num-stages 2 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,128,128,0' | FileCheck %s --check-prefix=AMPERE
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_80 --until schedule-loops --num-warps 8 --num-stages 2 --signature '*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32:16' | FileCheck %s --check-prefix=SCALED
import triton
import triton.language as tl


# A buffer of n stages has index_stage n - 1.
# TMA: #ttg.loop_schedule<policy "gemm" requested 2 index_stage 3
# FEWER: #ttg.loop_schedule<policy "gemm" requested 2 index_stage 3
# AMPERE: #ttg.loop_schedule<policy "copy-async" requested 2 index_stage 3
# NONE: reason "num_stages is 1"
# OWN: #ttg.loop_schedule<policy "gemm" requested 2 index_stage 1
@triton.jit
def mm(a, b, c, K, M: tl.constexpr, N: tl.constexpr, STAGES: tl.constexpr):
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 32)
    sums = tl.zeros((M, N), tl.float32)
    if STAGES:
        for start in tl.range(0, K, 32, num_stages=STAGES):
            sums = tl.dot(tl.load(a + i[:, None] * K + (start + k)), tl.load(b + (start + k[:, None]) * N + j), sums)
    else:
        for start in range(0, K, 32):
            sums = tl.dot(tl.load(a + i[:, None] * K + (start + k)), tl.load(b + (start + k[:, None]) * N + j), sums)
    tl.store(c + i[:, None] * N + j, sums.to(tl.float16))


# Loads to registers run an iteration ahead whatever the depth of the circular buffers.
# SCALED: #ttg.loop_schedule<policy "copy-async" requested 2 index_stage 4
# SCALED-SAME: buffers [<copy_async depth 5 {{.*}}>, <registers depth 1
@triton.jit
def scaled(a, b, c, s, K):
    i, k = tl.arange(0, 64), tl.arange(0, 32)
    sums = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 32):
        x = tl.load(a + i[:, None] * K + (start + k)) * tl.load(s + start + k)[None, :]
        sums = tl.dot(x, tl.load(b + (start + k[:, None]) * 64 + i), sums)
    tl.store(c + i[:, None] * 64 + i, sums.to(tl.float16))
