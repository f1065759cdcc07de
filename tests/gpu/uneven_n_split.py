"""CTAs split a dot's columns if its rows do not divide evenly among all warp groups. If pad-tiles has padded the columns, each CTA gets the same
number of valid columns."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 4 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=192,BN=352' --until split-ctas | FileCheck %s --check-prefix=SPLIT
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 4 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=192,BN=352' --emit ptx | FileCheck %s
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 5 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=128,BN=320' | FileCheck %s --check-prefix=PAIR
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 4 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=256,BN=216' --until split-ctas | FileCheck %s --check-prefix=ROWS
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 4 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=192,BN=352' --until specialize-warps | FileCheck %s --check-prefix=AFTER
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 5 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=192,BN=144' --until split-ctas | FileCheck %s --check-prefix=SQUARE
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 5 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=192,BN=144' | FileCheck %s --check-prefix=SHARED
# RUN: tilewright compile %s --kernel with_rows --target cuda:sm_90a --num-warps 8 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,r=*fp32:16,M=i32,N=i32:8,K=i32:8' --until split-ctas | FileCheck %s --check-prefix=APART
# RUN: tilewright run %s --kernel product --grid '2, 2' --arg 'a=randint(-4,4):f16[200x72]' --arg 'b=randint(-4,4):f16[72x152]' --arg c=zeros:f16[200x152] --arg M=200 --arg N=152 --arg K=72 --arg BM=192 --arg BN=144 --out c=%t.npy
# RUN: tilewright run %s --simulate --kernel product --grid '2, 2' --num-warps 8 --num-stages 5 --num-ctas 2 --arg 'a=randint(-4,4):f16[200x72]' --arg 'b=randint(-4,4):f16[72x152]' --arg c=zeros:f16[200x152] --arg M=200 --arg N=152 --arg K=72 --arg BM=192 --arg BN=144 --check c=%t.npy
# RUN: tilewright run %s --kernel with_rows --grid 1 --arg 'a=randint(-4,4):f16[192x72]' --arg 'b=randint(-4,4):f16[72x144]' --arg c=zeros:f16[192x144] --arg r=randn:f32[192] --arg M=192 --arg N=144 --arg K=72 --out c=%t.npy --out r=%t.r.npy
# RUN: tilewright run %s --simulate --kernel with_rows --grid 1 --num-warps 8 --num-ctas 2 --arg 'a=randint(-4,4):f16[192x72]' --arg 'b=randint(-4,4):f16[72x144]' --arg c=zeros:f16[192x144] --arg r=randn:f32[192] --arg M=192 --arg N=144 --arg K=72 --check c=%t.npy --check r=%t.r.npy
# RUN: tilewright compile %s --kernel summed --target cuda:sm_90a --num-warps 8 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8' --until split-ctas | FileCheck %s --check-prefix=SUMMED
# RUN: tilewright run %s --kernel product --grid '2, 1' --arg a=randn:f16[200x72] --arg b=randn:f16[72x344] --arg c=zeros:f16[200x344] --arg M=200 --arg N=344 --arg K=72 --arg BM=192 --arg BN=352 --out c=%t.npy
# RUN: tilewright run %s --simulate --kernel product --grid '2, 1' --num-warps 8 --num-stages 4 --num-ctas 2 --arg a=randn:f16[200x72] --arg b=randn:f16[72x344] --arg c=zeros:f16[200x344] --arg M=200 --arg N=344 --arg K=72 --arg BM=192 --arg BN=352 --check c=%t.npy --rtol 1e-2 --atol 1e-2
# RUN: tilewright run %s --kernel product --grid '1, 2' --arg a=randn:f16[100x72] --arg b=randn:f16[72x328] --arg c=zeros:f16[100x328] --arg M=100 --arg N=328 --arg K=72 --arg BM=128 --arg BN=320 --out c=%t.npy
# RUN: tilewright run %s --simulate --kernel product --grid '1, 2' --num-warps 8 --num-stages 4 --num-ctas 2 --arg a=randn:f16[100x72] --arg b=randn:f16[72x328] --arg c=zeros:f16[100x328] --arg M=100 --arg N=328 --arg K=72 --arg BM=128 --arg BN=320 --check c=%t.npy --rtol 1e-2 --atol 1e-2

# The second CTA's columns begin at 176; it has 256 of them, of which the first 176 are valid and stored.
# SPLIT: tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
# SPLIT: arith.constant 176 : i32
# SPLIT: tt.dot {{.*}}tt.valid_extent = array<i64: 192, 176>{{.*}} -> tensor<256x256xf32>

# Three pieces of 64 rows, each by one instruction.
# CHECK: .reqnctapercluster 2
# CHECK-COUNT-8: m64n176k16
# CHECK-NOT: wgmma.mma_async

# Both CTAs need the same rows: each loads half of them and multicasts it.
# PAIR: wgmma m64n160k16
# PAIR: multicasts

# 128 rows suffice for the two warp groups of each CTA.
# ROWS: tt.valid_extent = array<i64: 128, 216>

# The consumer warps compute the addresses of their stores after the loop, because the accumulators take most registers in it.
# AFTER: default {
# AFTER-NOT: tt.make_range
# AFTER: scf.for
# AFTER: ttg.mma_async_wait 0
# AFTER: tt.make_range {end = 256
# AFTER: tt.store

# A tile of as many rows as columns, both padded to 256: ranges distinguish them. If the rows are split as well, CTAs cannot split the columns
# unevenly.
# SQUARE: arith.constant 72 : i32
# SQUARE: tt.dot {{.*}}tt.valid_extent = array<i64: 192, 72>{{.*}} -> tensor<256x128xf32>
# SHARED: wgmma m64n72k16
# SHARED: multicasts
# APART-NOT: array<i64: 192, 72>
# APART: tt.dot

# Elements of a row are combined: CTAs split the padded tile.
# SUMMED-NOT: array<i64: 192, 176>
# SUMMED: tt.dot

import triton
import triton.language as tl


@triton.jit
def sums_of(a, b, rows, columns, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    ks = tl.arange(0, 64)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, 64):
        at = k + ks
        x = tl.load(a + rows[:, None] * K + at, mask=(rows[:, None] < M) & (at < K), other=0.0)
        y = tl.load(b + at[:, None] * N + columns[None, :], mask=(columns[None, :] < N) & (at[:, None] < K), other=0.0)
        sums = tl.dot(x, y, sums)
    return sums


@triton.jit(any_size=True)
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    sums = sums_of(a, b, rows, columns, M, N, K, BM, BN)
    tl.store(c + rows[:, None] * N + columns, sums.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (columns < N))


@triton.jit(any_size=True)
def summed(a, b, c, M, N, K):
    rows, columns = tl.program_id(0) * 192 + tl.arange(0, 192), tl.arange(0, 352)
    sums = sums_of(a, b, rows, columns, M, N, K, 192, 352)
    tl.store(c + rows, tl.sum(sums, 1).to(tl.float16), mask=rows < M)


@triton.jit(any_size=True)
def with_rows(a, b, c, r, M, N, K):
    rows, columns = tl.arange(0, 192), tl.arange(0, 144)
    sums = sums_of(a, b, rows, columns, M, N, K, 192, 144)
    tl.store(r + rows, tl.load(r + rows, mask=rows < M) * 2, mask=rows < M)
    tl.store(c + rows[:, None] * N + columns, sums.to(tl.float16), mask=(rows[:, None] < M) & (columns < N))
