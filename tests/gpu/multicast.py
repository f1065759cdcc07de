"""All CTAs of a program read the same operand of a dot: each loads a part and multicasts it."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16' --emit ptx | FileCheck %s
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16' --emit ptx | FileCheck %s --check-prefix=ONE
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16' | FileCheck %s --check-prefix=EXPLAIN
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 4 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16' | FileCheck %s --check-prefix=FOUR
# RUN: tilewright explain %s --kernel columns --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16' | FileCheck %s --check-prefix=COLUMNS
# RUN: tilewright explain %s --kernel plain --target cuda:sm_90a --num-warps 4 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:8,N=i32:16' | FileCheck %s --check-prefix=ODD
# RUN: tilewright explain %s --kernel plain --target cuda:sm_90a --num-warps 4 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16' | FileCheck %s --check-prefix=EVEN
# RUN: tilewright explain %s --kernel counted --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16,n=*i32:16' | FileCheck %s --check-prefix=MEET
# RUN: tilewright explain %s --kernel biased --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16,x=*fp16:16' | FileCheck %s --check-prefix=BIAS
# The schedule names the loads that are shared, and may name no other one.
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 3 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=i32:16' --until schedule-loops > %t.mlir
# RUN: FileCheck %s --check-prefix=SCHEDULE < %t.mlir
# RUN: sed 's/multicast \[2\]/multicast [1]/' %t.mlir > %t.other.mlir && not tilewright opt %t.other.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=OTHER
# SCHEDULE: writers [1, 2] release 2 multicast [2]>
# RUN: sed "s/ttg.alloc live [a-z_]*/ttg.alloc/" %t.mlir > %t.uses.mlir && not tilewright opt %t.uses.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=USES
# USES: its schedule is invalid: other CTAs write a buffer whose bytes have another use
# OTHER: its schedule is invalid: the CTAs of a cluster share a copy, but not its tile
# One CTA cannot hold these accumulators.
# RUN: tilewright explain %s --kernel large --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=256' | FileCheck %s --check-prefix=LARGE
# RUN: tilewright explain %s --kernel large --target cuda:sm_90a --num-warps 8 --num-stages 3 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=128' | FileCheck %s --check-prefix=FITS
# RUN: tilewright explain %s --kernel large --target cuda:sm_80 --num-warps 8 --num-stages 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,k=i32:16,N=256' | FileCheck %s --check-prefix=FITS

import triton
import triton.language as tl

# A stage is empty when eight warps of each CTA have read it; no warp arrives before the mbarriers of both CTAs exist.
# CHECK: mbarrier.init.shared::cta.b64 {{.*}}, 16;
# CHECK: barrier.cluster.arrive.relaxed
# CHECK: barrier.cluster.wait
# CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 {{.*}}, 32768;
# CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [
# CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
# CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
# A CTA ends when all of its stages are empty: the producer waits for that, and no warp waits at a cluster barrier.
# CHECK-NOT: barrier.cluster
# CHECK-COUNT-3: mbarrier.try_wait
# CHECK-NOT: mbarrier.try_wait
# CHECK: bra.uni{{.*}}$L__BB
# A consumer waits for a full stage. A descriptor has the address in the CTA's memory, without the CTA's rank.
# CHECK-COUNT-1: mbarrier.try_wait
# CHECK: and.b32 {{.*}}, 16320;
# No fence of GPU scope precedes an arrival in the other CTA.
# CHECK: mapa.shared::cluster.u32 there, {{.*}}, 0; {{.*}}mbarrier.arrive.release.cta.shared::cluster.b64 {{.*}}, 1;
# CHECK-NOT: mbarrier.try_wait
# CHECK-NOT: barrier.cluster
# CHECK: ret;

# ONE-NOT: multicast

# EXPLAIN: 64x128 f16 from b by TMA
# EXPLAIN: multicasts

# LARGE: 2 CTAs share a program, because the registers of one cannot hold its accumulators
# LARGE: 1 warp for copies
# LARGE: multicasts
# FITS-NOT: share a program

# One box holds the tile: each CTA copies half of its rows.
# COLUMNS: 64x128 f16 from b by TMA: {{.*}} box {64, 64}
# COLUMNS: multicasts

# Without a request by the author, the CTAs multicast if rows begin at odd multiples of 16 bytes.
# ODD: 1 warp for copies
# ODD: multicasts
# EVEN: no warp specialization: the program has several CTAs, and all rows start at an L2 sector

# FOUR: 1 warp for copies
# FOUR: 64x128 f16 from b by TMA: {{.*}} box {64, 16}
# FOUR: multicasts
# MEET: no warp specialization: the CTAs of a program may need a barrier
# A load of another tensor than the stored one needs no barrier. Each CTA loads the whole row.
# BIAS: 1 warp for copies
# BIAS: multicasts


@triton.jit
def product(a, b, c, k, N):
    rows, columns, ks = tl.program_id(0) * 256 + tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + (start + ks)[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def columns(a, b, c, k, N):
    rows, columns, ks = tl.program_id(0) * 256 + tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + columns[None, :] * k + (start + ks)[:, None])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def plain(a, b, c, k, N):
    rows, columns, ks = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((128, 128), tl.float32)
    for start in range(0, k, 64):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :], mask=(start + ks)[None, :] < k, other=0.0)
        y = tl.load(b + columns[None, :] * k + (start + ks)[:, None], mask=(start + ks)[:, None] < k, other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def counted(a, b, c, k, N, n):
    rows, columns, ks = tl.program_id(0) * 256 + tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + (start + ks)[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))
    tl.atomic_add(n, 1)


@triton.jit
def large(a, b, c, k, N: tl.constexpr):
    rows, columns, ks = tl.program_id(0) * 256 + tl.arange(0, 256), tl.arange(0, N), tl.arange(0, 64)
    total = tl.zeros((256, N), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + (start + ks)[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


@triton.jit
def biased(a, b, c, k, N, x):
    rows, columns, ks = tl.program_id(0) * 256 + tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    for start in tl.range(0, k, 64, warp_specialize=True):
        total = tl.dot(tl.load(a + rows[:, None] * k + (start + ks)[None, :]), tl.load(b + (start + ks)[:, None] * N + columns[None, :]), total)
    tl.store(c + rows[:, None] * N + columns[None, :], (total + tl.load(x + columns)[None, :]).to(tl.float16))
