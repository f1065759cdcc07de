"""RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, M=256' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 3 --until schedule-loops | FileCheck %s --check-prefix=SCHEDULE
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, M=256' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 3 --until specialize-warps | FileCheck %s
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, M=256' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 3 --until lower-to-threads | FileCheck %s --check-prefix=THREADS
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, M=256' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 3 | FileCheck %s --check-prefix=EXPLAIN
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, M=128' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 3 --until place-accumulators | FileCheck %s --check-prefix=HALVES
RUN: tilewright explain %s --kernel scaled_sum --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 3 | FileCheck %s --check-prefix=FEW
RUN: tilewright explain %s --kernel computed --signature '*fp16:16, *fp16:16, *fp32:16, i32:16' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 3 | FileCheck %s --check-prefix=COMPUTED
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, M=256' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-ctas 2 --num-stages 1 | FileCheck %s --check-prefix=STAGES
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, M=256' --target cuda:sm_90a \
RUN:   --num-warps 8 --num-ctas 2 --num-stages 3 --until schedule-loops | FileCheck %s --check-prefix=HOPPER

Each CTA copies its rows of A and half of the columns of B.

SCHEDULE: #ttg.loop_schedule<policy "gemm" {{.*}} first_warp true>]
SCHEDULE: %[[rank:.*]] = ptx.cluster_rank
SCHEDULE-NEXT: %[[half:.*]] = arith.constant 64 : i32
SCHEDULE-NEXT: %[[first:.*]] = arith.muli %[[rank]], %[[half]]
SCHEDULE: arith.addi %{{.*}}, %[[first]]
SCHEDULE: ttg.descriptor_load {{.*}} : tensor<64x64xf16
SCHEDULE: ttg.mma_async {{.*}} {paired,

The first CTA announces the bytes of both, and multiplies for both.

CHECK: ttg.tensor_alloc 256 {paired,
CHECK: ttg.warp_specialize()
CHECK: default {
CHECK: ttg.barrier_wait %[[full:.*]][%{{.*}} {tensorMemory} : <2>
CHECK: ttg.tensor_load
CHECK: ttg.barrier_arrive %[[empty:.*]][%{{.*}}] {toFirstCta} : <2>
CHECK: ttg.tma_store
CHECK: ttg.barrier_arrive %[[done:.*]][%{{.*}}] {inAllCtas} : <1>
CHECK: ttg.barrier_wait %[[done]][
CHECK: ttg.tensor_free
CHECK: partition0() num_warps(1)
CHECK: ttg.barrier_wait %[[read:.*]][%{{.*}} : <3>
CHECK: ttg.barrier_expect {{.*}}, 49152 if
CHECK: ttg.tma_load {{.*}} {toLeader}
CHECK: ttg.tma_load {{.*}} {toLeader}
CHECK: partition1() num_warps(1)
CHECK: scf.if
CHECK: ttg.barrier_wait %[[empty]][
CHECK: scf.for
CHECK: ttg.tcgen05_mma {{.*}} {paired}
CHECK: ttg.tcgen05_commit %[[read]][%{{.*}}] {paired}
CHECK: ttg.tcgen05_commit %[[full]][%{{.*}}] {paired}
CHECK: else
CHECK: scf.for
CHECK-NEXT: ttg.clc_program
CHECK-NEXT: }

EXPLAIN: the two CTAs multiply
EXPLAIN-NEXT: together (cta_group::2), and each copies half of the second operand
HALVES: ttg.tensor_load {{.*}} : <128x64xf32>
HALVES-NEXT: tt.reshape {{.*}} -> tensor<2x64x64xf32
HALVES-NEXT: tt.trans {{.*}} -> tensor<64x2x64xf32
HALVES-NEXT: tt.reshape {{.*}} -> tensor<64x128xf32
HALVES-NEXT: ttg.convert_layout
FEW: each CTA multiplies by itself: a dot does more than
FEW-NEXT: to accumulate copied operands in a loop
COMPUTED: each CTA multiplies by
COMPUTED-NEXT: itself: a dot's first operand is not copied by TMA
STAGES: each CTA multiplies by itself: no warp of its
STAGES-NEXT: own starts the copies
HOPPER-NOT: paired

The leader asks for the next program, and waits until the warps of both CTAs have read the last response.
THREADS: ptx.cluster_rank
THREADS: ptx.mbarrier_wait %[[read:[0-9]+]], %{{.*}} scope cluster
THREADS: ptx.clc_try_cancel
THREADS: ptx.clc_query
THREADS: ptx.mbarrier_arrive %[[read]] if %{{.*}} scope cluster {inCtas = 2 : i32, toFirst}

An accumulator is empty when the warps of both have loaded it: the leader waits for them.
THREADS: ptx.mbarrier_wait %{{.*}} scope cluster
THREADS: ptx.tcgen05_mma
"""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, k, N, M: tl.constexpr):
    rows, columns, ks = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * 128 + tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((M, 128), tl.float32)
    for start in range(0, k, 64):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + (start + ks)[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)


@triton.jit
def scaled_sum(a, b, c, k):
    rows, columns, ks = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, k, 64):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + columns[None, :] * k + (start + ks)[:, None])
        total = tl.dot(x, y, total) * 0.5
    tl.store(c + rows[:, None] * 128 + columns[None, :], total)


@triton.jit
def computed(a, b, c, k):
    rows, columns, ks = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, k, 64):
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
        y = tl.load(b + columns[None, :] * k + (start + ks)[:, None])
        total = tl.dot(tl.maximum(x, 0), y, total)
    tl.store(c + rows[:, None] * 128 + columns[None, :], total)
