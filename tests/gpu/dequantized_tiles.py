"""Narrow tiles that threads dequantize for dots are prefetched to shared memory. The CTA barrier that shows the dequantized values to MMAs also
shows that the tiles have been read, so their stages are refilled after it. The tiles arrive together."""
# RUN: tilewright compile %s --kernel widened --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,M=i32:16,K=i32:16,BLOCK_K=64' --num-warps 8 --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --kernel widened --target cuda:sm_90a --until schedule-loops --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,M=i32:16,K=i32:16,BLOCK_K=64' --num-warps 8 --num-stages 3 > %t.mlir && FileCheck %s --check-prefix=SCHEDULE < %t.mlir
# RUN: sed 's/threads depth 3/threads depth 1/' %t.mlir > %t.depth.mlir && not tilewright opt %t.depth.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=DEPTH
# RUN: tilewright explain %s --kernel widened --target cuda:sm_90a --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,M=i32:16,K=i32:16,BLOCK_K=256' --num-stages 3 | FileCheck %s --check-prefix=LARGE
# RUN: tilewright run %s --simulate --kernel widened --grid 1 --num-warps 8 --num-stages 3 --arg a=arange:i8[128x256] --arg b=arange:i8[256x256] --arg out=zeros:f32[128x256] --arg M=128 --arg K=256 --arg BLOCK_K=64
# RUN: tilewright explain %s --kernel otherwise --target cuda:sm_90a --signature '*fp16:16,*u8:16,*fp32:16,i32:16,i32:16,"assembly"' --num-warps 8 | FileCheck %s --check-prefix=OTHERWISE
# RUN: tilewright explain %s --kernel otherwise --target cuda:sm_90a --signature '*fp16:16,*u8:16,*fp32:16,i32:16,i32:16,"square root"' --num-warps 8 | FileCheck %s --check-prefix=OTHERWISE
# RUN: tilewright run %s --kernel otherwise --grid 1 --arg a=randn:f16[128x128] --arg b=arange:u8[128x128] --arg out=zeros:f32[128x128] --arg K=128 --arg N=128 --arg HOW='"square root"' --num-warps 8 --simulate --out out=%t.npy
# RUN: tilewright run %s --kernel otherwise --grid 1 --arg a=randn:f16[128x128] --arg b=arange:u8[128x128] --arg out=zeros:f32[128x128] --arg K=128 --arg N=128 --arg HOW='"square root"' --check out=%t.npy
# RUN: tilewright compile %s --kernel decayed --target cuda:sm_90a --until schedule-loops --signature '*fp16:16,*i8:16,*fp32:16,i32:16' --num-warps 8 --num-stages 8 | FileCheck %s --check-prefix=DECAYED
# RUN: tilewright compile %s --kernel otherwise --target cuda:sm_90a --until schedule-loops --signature '*fp16:16,*u8:16,*fp32:16,i32:16,i32:16,"assembly"' --num-warps 8 | FileCheck %s --check-prefix=MIXED

# CHECK-COUNT-6: ttg.tma_load
# CHECK: scf.for
# CHECK: ttg.barrier_wait
# CHECK-NOT: ttg.barrier_wait
# CHECK-COUNT-2: ttg.load_shared
# CHECK-COUNT-2: ttg.store_shared
# CHECK-NEXT: ttg.fence_async
# CHECK-NEXT: ttg.cta_barrier
# CHECK: ttg.tma_load
# CHECK: ttg.mma_async %
# CHECK-NEXT: ttg.mma_async_wait 1
# CHECK-NOT: ttg.cta_barrier
# CHECK: scf.yield

# SCHEDULE: policy "gemm" requested 3
# SCHEDULE-SAME: release 2>, <threads depth 3
# DEPTH: its schedule is invalid: a single buffer of a computed operand cannot be filled while an MMA reads it

# Two buffers for each would not fit: the tiles go to registers.
# LARGE: i8 from a in {{.*}} accesses of 16 bytes
import triton
import triton.language as tl


@triton.jit
def widened(a, b, out, M, K, BLOCK_K: tl.constexpr):
    i, j, k = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, BLOCK_K)
    rows = i % M  # the store leaves out the rows from M on
    total = tl.zeros((128, 256), tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(a + rows[:, None] * K + (start + k)[None, :]).to(tl.float16)
        y = tl.load(b + j[None, :] * K + (start + k)[:, None]).to(tl.float16)
        total = tl.dot(x, y, total)
    tl.store(out + i[:, None] * 256 + j[None, :], total, mask=(i < M)[:, None])


# The stage of a tile that threads read is released before the MMA, that of a tile that the MMA reads after the next MMA.
# MIXED: buffers [<tma depth 3 writers [2] release 2>, <tma depth 3 writers [1] release 4>, <threads depth 2
# Any operation that computes each element alone may dequantize.
# OTHERWISE: 3 stages of 24576 bytes: 64x128 i8 by TMA, 128x64 f16 by TMA
@triton.jit
def otherwise(a, b, out, K, N, HOW: tl.constexpr):
    i, j, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((128, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + j[None, :])
        if HOW == "assembly":
            y = tl.inline_asm_elementwise("{ prmt.b32 $0, $2, 0, 0x4140; prmt.b32 $1, $2, 0, 0x4342; }", "=r,=r,r", [y], dtype=tl.float16,
                                          is_pure=True, pack=4)
        else:
            y = tl.sqrt_rn(y.to(tl.float32)).to(tl.float16)
        total = tl.dot(x, y, total)
    tl.store(out + i[:, None] * N + j[None, :], total)


# The MMA ends in its iteration, so the dequantized tile has one buffer, and leaves space for 8 stages.
# DECAYED: policy "waited-dots" requested 8
# DECAYED-SAME: tma depth 8
@triton.jit
def decayed(a, b, out, K):
    i, j, k = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 64)
    total = tl.zeros((128, 256), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + j[None, :] * K + (start + k)[:, None]).to(tl.float16)
        total = total * 0.5 + tl.dot(x, y)
    tl.store(out + i[:, None] * 256 + j[None, :], total)
