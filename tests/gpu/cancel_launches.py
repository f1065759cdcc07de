"""RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=0' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 --until cancel-launches | FileCheck %s
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=0' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 --until specialize-warps | FileCheck %s --check-prefix=PARTITIONS
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=0' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 --until lower-to-threads | FileCheck %s --check-prefix=THREADS
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=0' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 | FileCheck %s --check-prefix=EXPLAIN
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=1' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 | FileCheck %s --check-prefix=BRANCH
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=2' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 | FileCheck %s --check-prefix=LOOP
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=0' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 1 | FileCheck %s --check-prefix=STAGES
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=3' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 --until place-accumulators | FileCheck %s --check-prefix=OUTSIDE
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=3' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 | FileCheck %s --check-prefix=BEFORE
RUN: tilewright explain %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=4' --target cuda:sm_100a \
RUN:   --num-warps 4 --num-stages 3 | FileCheck %s --check-prefix=AFTER
RUN: tilewright compile %s --kernel product --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, FORM=0' --target cuda:sm_90a \
RUN:   --num-warps 8 --num-stages 3 --until cancel-launches | FileCheck %s --check-prefix=HOPPER

What all programs compute alike comes before the loop.

CHECK: %[[responses:.*]] = ttg.alloc live throughout
CHECK: %[[full:.*]] = ttg.alloc_barriers : <4>
CHECK: %[[empty:.*]] = ttg.alloc_barriers {arrivals = 4 : i32} : <4>
CHECK-NOT: tt.get_program_id
CHECK: scf.for %[[i:.*]] = %{{.*}} to %{{.*}} step
CHECK-NEXT: %[[x:.*]], %[[y:.*]], %{{.*}} = ttg.clc_program %[[i]] by %[[responses]], %[[full]], %[[empty]] {asks}
CHECK: arith.muli %[[x]], %
CHECK: scf.for
CHECK: ttg.mma_async
CHECK: ttg.tma_store

The producer asks, and the warps of all partitions read: four that store, the producer and the MMA warp.

PARTITIONS: ttg.alloc_barriers {arrivals = 6 : i32
PARTITIONS: default {
PARTITIONS: ttg.clc_program %{{.*}} by %{{[^{]*}} :
PARTITIONS: partition0() num_warps(1)
PARTITIONS: ttg.clc_program %{{.*}} {asks} :
PARTITIONS: partition1() num_warps(1)
PARTITIONS: ttg.clc_program %{{.*}} by %{{[^{]*}} :

THREADS: ptx.clc_try_cancel
THREADS-NOT: ptx.clc_try_cancel
THREADS: ptx.fence_async

EXPLAIN: a CTA cancels the launch of
EXPLAIN-NEXT: others, and executes their programs (cluster launch control); a warp of its own multiplies, while others store
EXPLAIN-NEXT: the last sums; prefetches across tiles
BRANCH: each CTA executes its own
BRANCH-NEXT: program: the loop is in a branch
LOOP: each CTA executes its own
LOOP-NEXT: program: the program has a loop over tiles of its own; a warp of its own multiplies, while others store the last
LOOP-NEXT: sums; prefetches across tiles
STAGES: each CTA executes its own program: no warp of
STAGES-NEXT: its own starts the copies
HOPPER-NOT: clc_program

A dot outside of loops has a loop only in the copy of the kernel that the step schedules, before the loop over K or after it.

OUTSIDE-COUNT-2: ttg.tcgen05_mma
BEFORE: a CTA cancels the launch of
AFTER: a CTA cancels the launch of
"""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, k, N, FORM: tl.constexpr):
    if FORM == 1 and tl.program_id(0) > k:
        return
    for tile in range(tl.program_id(0) if FORM == 2 else 0, 4 if FORM == 2 else 1):
        m = tile if FORM == 2 else tl.program_id(0)
        rows, columns, ks = m * 128 + tl.arange(0, 128), tl.program_id(1) * 128 + tl.arange(0, 128), tl.arange(0, 64)
        total = tl.zeros((128, 128), tl.float32)
        if FORM == 3:
            x = tl.load(a + rows[:, None] * k + ks[None, :])
            y = tl.load(b + ks[:, None] * N + columns[None, :])
            total = tl.dot(x, y)
        for start in range(0, k, 64):
            x = tl.load(a + rows[:, None] * k + (start + ks)[None, :])
            y = tl.load(b + (start + ks)[:, None] * N + columns[None, :])
            total = tl.dot(x, y, total)
        if FORM == 4:
            x = tl.load(a + rows[:, None] * k + ks[None, :])
            y = tl.load(b + ks[:, None] * N + columns[None, :])
            total = tl.dot(x, y, total)
        tl.store(c + rows[:, None] * N + columns[None, :], total)
