"""Dots of tiles whose sizes are not powers of two: wgmma computes only the valid columns, and shared memory holds no other ones."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=128,BN=176,T=0,WS=0' --until copy-unpipelined | FileCheck %s --check-prefix=TILES
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=128,BN=176,T=0,WS=0' --emit ptx | FileCheck %s
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=128,BN=176,T=0,WS=0' | FileCheck %s --check-prefix=HELD
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=128,BN=170,T=1,WS=0' --until copy-unpipelined | FileCheck %s --check-prefix=ALONG
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=192,BN=176,T=0,WS=0' --emit ptx | FileCheck %s --check-prefix=ROWS
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=256,BN=216,T=0,WS=0' --emit ptx | FileCheck %s --check-prefix=LARGE
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=64,BN=216,T=0,WS=0' --until copy-unpipelined | FileCheck %s --check-prefix=SHARED
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp32:16,b=*fp32:16,c=*fp32:16,M=i32,N=i32:8,K=i32:8,BM=128,BN=80,T=0,WS=0' --until copy-unpipelined | FileCheck %s --check-prefix=TRANSPOSED
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=256,BN=216,T=0,WS=1' | FileCheck %s --check-prefix=PAIR
# RUN: tilewright compile %s --kernel bytes_of_numbers --target cuda:sm_90a --num-warps 8 --num-stages 4 --signature 'a=*u8:16,b=*u8:16,c=*fp32:16,M=i32,N=i32:16,K=i32:16,BN=144' --until copy-unpipelined | FileCheck %s --check-prefix=BYTES
# RUN: tilewright explain %s --kernel bytes_of_numbers --target cuda:sm_90a --num-warps 8 --num-stages 4 --signature 'a=*u8:16,b=*u8:16,c=*fp32:16,M=i32,N=i32:16,K=i32:16,BN=144' | FileCheck %s --check-prefix=EXACT
# RUN: tilewright explain %s --kernel twice --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8' | FileCheck %s --check-prefix=MEETS

import triton
import triton.language as tl

# Three groups of 64 columns hold the 176. The remaining columns are never read.
# TILES: box = [64, 64]
# TILES: ttg.alloc {copiedExtent = array<i64: 64, 192>} : <3 x f16, #ttg.shared<64x256
# TILES: ttg.barrier_expect {{.*}}, 40960
# TILES: ttg.mma_async {{.*}} extent [128, 176]
# explain counts the bytes that shared memory holds: 128x64 of A and 64x192 of B.
# HELD: 3 stages of 40960 bytes
# HELD: 64x256 f16, 3 stages, 73728 bytes

# One instruction has 176 columns; each thread holds 88 accumulators and no more.
# CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n176k16
# CHECK-NOT: wgmma.mma_async
# CHECK: wgmma.wait_group

# If B is contiguous along K, each column is a row of the buffer: there are 176, of which only the instruction needs the last six.
# ALONG: box = [64, 176]
# ALONG: ttg.alloc {copiedExtent = array<i64: 64, 176>} : <3 x f16, #ttg.shared<64x256
# ALONG: ttg.barrier_expect {{.*}}, 38912
# ALONG: ttg.mma_async {{.*}} extent [128, 176]

# The second warp group has 64 of the 192 rows. The first one's second MMA comes first, in a branch with its own fences.
# ROWS: mbarrier.arrive.expect_tx.shared::cta.b64 {{.*}}, 49152;
# ROWS: wgmma.fence
# ROWS: setp.ge.u32 skip, thread, 128; @skip bra after;
# ROWS-NEXT: wgmma.fence
# ROWS-COUNT-4: m64n176k16
# ROWS: after: }
# ROWS-NEXT: wgmma.fence
# ROWS-COUNT-4: m64n176k16
# ROWS-NOT: wgmma.mma_async

# Accumulators of 216 registers in each thread stay in one CTA.
# LARGE-NOT: barrier.cluster
# LARGE-COUNT-8: m64n216k16
# LARGE-NOT: wgmma.mma_async

# Two warp groups split the columns: each computes half of the tile.
# SHARED-NOT: copiedExtent
# SHARED-NOT: extent [

# tf32 needs rows along K. Threads transpose the whole tile.
# TRANSPOSED-NOT: copiedExtent
# TRANSPOSED: ttg.mma_async {{.*}} extent [

# CTAs multicast although threads store the tile; with two stores, the CTAs might have to wait for each other.
# PAIR: wgmma m64n216k16
# PAIR: multicasts
# MEETS-DAG: wgmma m64n216k16
# MEETS-DAG: no warp specialization: the CTAs of a program may need a barrier


@triton.jit(any_size=True)
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, T: tl.constexpr, WS: tl.constexpr):
    rows, columns, ks = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, 64)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, 64, warp_specialize=WS):
        at = k + ks
        x = tl.load(a + rows[:, None] * K + at, mask=(rows[:, None] < M) & (at < K), other=0.0)
        places = columns[None, :] * K + at[:, None] if T else at[:, None] * N + columns[None, :]
        y = tl.load(b + places, mask=(columns[None, :] < N) & (at[:, None] < K), other=0.0)
        sums = tl.dot(x, y, sums)
    tl.store(c + rows[:, None] * N + columns, sums.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (columns < N))


@triton.jit(any_size=True)
def twice(a, b, c, M, N, K):
    rows, columns, ks = tl.program_id(0) * 256 + tl.arange(0, 256), tl.program_id(1) * 216 + tl.arange(0, 216), tl.arange(0, 64)
    sums = tl.zeros((256, 216), tl.float32)
    for k in tl.range(0, K, 64, warp_specialize=True):
        at = k + ks
        x = tl.load(a + rows[:, None] * K + at, mask=(rows[:, None] < M) & (at < K), other=0.0)
        y = tl.load(b + at[:, None] * N + columns, mask=(columns < N) & (at[:, None] < K), other=0.0)
        sums += tl.dot(x, y)
    tl.store(c + rows[:, None] * N + columns, sums.to(tl.float16), mask=(rows[:, None] < M) & (columns < N))
    tl.store(c + rows[:, None] * N + columns + 1, sums.to(tl.float16), mask=(rows[:, None] < M) & (columns + 1 < N))


# Bytes with 8-bit floats have maps as well, of the 144 rows of B that the dot demands.
# BYTES: box = [128, 128]
# BYTES: box = [128, 144]
# BYTES: ttg.alloc {copiedExtent = array<i64: 144, 128>} : <4 x i8
# BYTES: ttg.mma_async {{.*}} extent [128, 144]
# EXACT: 1 warp for copies
# EXACT: no spills
@triton.jit(any_size=True)
def bytes_of_numbers(a, b, c, M, N, K, BN: tl.constexpr):
    rows, columns, ks = tl.program_id(0) * 128 + tl.arange(0, 128), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, 128)
    sums = tl.zeros((128, BN), tl.float32)
    for k in tl.range(0, K, 128):
        at = k + ks
        x = tl.load(a + rows[:, None] * K + at, mask=(rows[:, None] < M) & (at < K), other=0).to(tl.float8e4nv, bitcast=True)
        y = tl.load(b + columns[:, None] * K + at, mask=(columns[:, None] < N) & (at < K), other=0).to(tl.float8e4nv, bitcast=True)
        sums = tl.dot(x, y.T, sums, max_num_imprecise_acc=128)
    tl.store(c + rows[:, None] * N + columns, sums, mask=(rows[:, None] < M) & (columns < N))
