"""Narrow tiles that threads dequantize for dots are prefetched to shared memory, and an iteration has one CTA barrier. After it, MMAs read the
dequantized values of all stages, and the stages are refilled. The tiles arrive together."""
# RUN: tilewright compile %s --kernel widened --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,M=i32:16,K=i32:16,BLOCK_K=64' --num-warps 8 --num-stages 3 | FileCheck %s
# RUN: tilewright explain %s --kernel widened --target cuda:sm_90a --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,M=i32:16,K=i32:16,BLOCK_K=256' --num-stages 3 | FileCheck %s --check-prefix=LARGE
# RUN: tilewright run %s --simulate --kernel widened --grid 1 --num-warps 8 --num-stages 3 --arg a=arange:i8[128x256] --arg b=arange:i8[256x256] --arg out=zeros:f32[128x256] --arg M=128 --arg K=256 --arg BLOCK_K=64

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
