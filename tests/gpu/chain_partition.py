"""RUN: tilewright compile %s --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=128, M=128, N=128' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until specialize-warps | FileCheck %s
RUN: tilewright compile %s --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=64, M=128, N=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until specialize-warps | FileCheck %s --check-prefix=TWO
RUN: tilewright compile %s --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=128, M=256, N=128' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-stages 2 --until specialize-warps | FileCheck %s --check-prefix=ROWS
RUN: tilewright compile %s --kernel attention --signature '*fp8e4nv:16, *fp8e4nv:16, *fp8e4nv:16, *fp16:16, fp32, i32:16, HEAD=128, M=128, N=128' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until specialize-warps | FileCheck %s --check-prefix=SHARED
RUN: tilewright explain %s --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=128, M=128, N=128' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 | FileCheck %s --check-prefix=EXPLAIN
RUN: tilewright explain %s --kernel attention --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16, HEAD=128, M=256, N=128' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-stages 2 | FileCheck %s --check-prefix=PARTS
RUN: tilewright compile %s --kernel exchanged --signature '*fp16:16, *fp16:16, *fp16:16, *fp16:16, i32:16, HEAD=128, M=128, N=128' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 2 --until place-accumulators | FileCheck %s --check-prefix=EXCHANGED

Attention on tcgen05. One warp issues the MMAs: QK an iteration ahead of PV. P is in tensor memory. A warp group corrects the sums.

CHECK: %[[memory:.*]] = ttg.tensor_alloc 512
CHECK-DAG: %[[scores:.*]] = ttg.tensor_tile %[[memory]], 0 {depth = 2 : i32} : <128x128xf32>
CHECK-DAG: %[[sums:.*]] = ttg.tensor_tile %[[memory]], 256 : <128x128xf32>
CHECK-DAG: %[[weights:.*]] = ttg.tensor_tile %[[memory]], 384 : <128x128xf16>
CHECK-DAG: %[[factors:.*]] = ttg.alloc live throughout {{.*}} <2 x f32
CHECK: ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 88, 24>}
CHECK: default {
CHECK: ttg.tensor_store %{{.*}}, %[[sums]]
CHECK: ttg.barrier_arrive
CHECK: scf.for
CHECK: ttg.barrier_wait {{.*}} {tensorMemory} : <2>
CHECK: ttg.tensor_load
CHECK: ttg.store_shared
CHECK: ttg.barrier_arrive %[[full:.*]][%{{.*}}] : <2>
CHECK: ttg.barrier_wait %[[done:.*]][%{{.*}}], %{{.*}} {tensorMemory} : <1>
CHECK: ttg.tensor_store %{{.*}}, %[[weights]]
CHECK: ttg.barrier_arrive %[[ready:.*]][
CHECK: scf.yield
CHECK: ttg.tensor_load %[[sums]]
CHECK: partition0() num_warps(1)
CHECK: ttg.tma_load
CHECK: partition1() num_warps(4)
CHECK: ttg.barrier_wait %[[full]][
CHECK: %[[factor:.*]] = ttg.load_shared
CHECK: ttg.barrier_wait %[[done]][
CHECK: ttg.tensor_scale %[[factor]], %[[sums]]
CHECK: ttg.barrier_arrive %[[ready]][
CHECK: partition2() num_warps(1)
CHECK: scf.for
CHECK: scf.if
CHECK: %[[first:.*]] = ttg.tensor_stage %[[scores]]
CHECK: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[first]] if
CHECK: scf.if
CHECK: %[[next:.*]] = ttg.tensor_stage %[[scores]]
CHECK: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[next]] if
CHECK: ttg.barrier_wait %[[ready]][
CHECK: ttg.tcgen05_mma %[[weights]], %{{.*}}, %[[sums]] if
CHECK: ttg.tcgen05_commit %[[done]][

Two CTAs fit on an SM: one multiplies while the other corrects its sums itself.
TWO: ttg.tensor_alloc 256
TWO: ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 24>}
TWO: default {
TWO: ttg.tensor_scale
TWO: partition0() num_warps(1)
TWO: partition1() num_warps(1)

Each of two warp groups has 128 rows, and MMAs and barriers of its own. P is in the columns of the scores, so the next MMA that writes there
waits for the last one that reads P. PV starts when three quarters of P are stored. The groups compute the exponentials one after the other.
ROWS: ttg.tensor_alloc 512
ROWS-DAG: %[[scores:.*]] = ttg.tensor_tile %{{.*}}, 0 : <256x128xf32>
ROWS-DAG: %[[weights:.*]] = ttg.tensor_tile %{{.*}}, 0 : <256x128xf16, 128>
ROWS-DAG: %[[sums:.*]] = ttg.tensor_tile %{{.*}}, 256 : <256x128xf32>
ROWS: ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 24, 88>}
ROWS: default {
ROWS: %[[group:.*]] = arith.shrui
ROWS: %[[first:.*]] = arith.extui
ROWS: %[[one:.*]] = arith.addi %[[group]]
ROWS: %[[next:.*]] = arith.andi %[[one]]
ROWS: scf.for
ROWS: ttg.barrier_wait %[[scored:.*]][%{{.*}}], %{{.*}} {perWarpGroup, tensorMemory} : <2>
ROWS: ttg.tensor_load %[[scores]]
ROWS-NOT: ttg.cta_barrier
ROWS: ttg.barrier_arrive %[[full:.*]][%{{.*}}] {perWarpGroup} : <4>
ROWS: ttg.barrier_wait %[[done:.*]][%{{.*}}], %{{.*}} {perWarpGroup, tensorMemory} : <2>
ROWS: %[[parity:.*]] = arith.xori %{{.*}}, %[[first]]
ROWS: ttg.barrier_wait %[[pingpong:.*]][%{{.*}}], %[[parity]] {perWarpGroup} : <2>
ROWS-NOT: ttg.cta_barrier
ROWS: ttg.tensor_store %{{.*}}, %[[weights]] {range = array<i32: 0, 96>}
ROWS: ttg.barrier_arrive %[[ready:.*]][%{{.*}}] {perWarpGroup} : <2>
ROWS: ttg.barrier_arrive %[[pingpong]][%[[next]]] : <2>
ROWS: ttg.tensor_store %{{.*}}, %[[weights]] {range = array<i32: 96, 128>}
ROWS: ttg.barrier_arrive %[[rest:.*]][%{{.*}}] {perWarpGroup} : <2>
ROWS: partition0() num_warps(1)
ROWS: ttg.tma_load
ROWS: partition1() num_warps(1)
ROWS: ttg.barrier_wait %[[ready]][
ROWS: ttg.tcgen05_mma %[[weights]], %{{.*}}, %[[sums]] if %{{.*}} {kRange = array<i32: 0, 96>, rowBlock = 0 : i32}
ROWS: ttg.barrier_wait %[[rest]][
ROWS: ttg.tcgen05_mma %[[weights]], %{{.*}}, %[[sums]] if %true{{.*}} {kRange = array<i32: 96, 128>, rowBlock = 0 : i32}
ROWS: ttg.tcgen05_commit %[[done]][
ROWS: ttg.barrier_wait %[[done]][
ROWS: scf.if
ROWS: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[scores]] if %{{.*}} {rowBlock = 0 : i32}
ROWS: ttg.barrier_wait %[[ready]][
ROWS: ttg.tcgen05_mma %[[weights]], %{{.*}}, %[[sums]] if %{{.*}} {kRange = array<i32: 0, 96>, rowBlock = 1 : i32}
ROWS: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[scores]] if %{{.*}} {rowBlock = 1 : i32}
ROWS: partition2() num_warps(4)
ROWS: ttg.barrier_wait %[[full]][
ROWS: ttg.tensor_scale %{{.*}}, %[[sums]] {rowBlock = 0 : i32}
ROWS: ttg.barrier_arrive %[[ready]][
ROWS: ttg.view %{{.*}} {first = 128 : i32
ROWS: ttg.tensor_scale %{{.*}}, %[[sums]] {rowBlock = 1 : i32}

With operands of 8 bits, two CTAs fit on an SM, if P is in the columns of the scores.
SHARED: ttg.tensor_alloc 256
SHARED-DAG: ttg.tensor_tile %{{.*}}, 0 : <128x128xf32>
SHARED-DAG: ttg.tensor_tile %{{.*}}, 0 : <128x128xf8E4M3FN, 128>
SHARED-DAG: ttg.tensor_tile %{{.*}}, 128 : <128x128xf32>

EXPLAIN: warp specialization: 1 warp for copies, 4 warps for the correction of sums, 1 warp for MMAs
EXPLAIN: tcgen05.mma m128n128k16, A and B in shared memory
EXPLAIN: tcgen05.mma m128n128k16, A in tensor memory, B in shared memory

PARTS: tcgen05.mma m128n128k16, A in tensor memory, B in shared memory, starts
PARTS-NEXT: when 96 of 128 columns of A are stored

The factors are sent early. But threads exchange them through shared memory, and the barriers of that stay where the program has them.
EXCHANGED: tt.reduce
EXCHANGED-NOT: tt.gather
EXCHANGED: math.exp2 %{{.*}} : tensor<128x128xf32
EXCHANGED: %[[factors:.*]] = tt.gather
EXCHANGED: ttg.store_shared %[[factors]]
EXCHANGED: ttg.tensor_scale
"""

import triton
import triton.language as tl


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, scale, keys, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    first = tl.program_id(0) * M
    q = tl.make_tensor_descriptor(q_ptr, [keys, HEAD], [HEAD, 1], [M, HEAD]).load([first, 0])
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    acc = tl.zeros((M, HEAD), tl.float32)
    total = tl.zeros((M,), tl.float32)
    highest = tl.full((M,), -float("inf"), tl.float32)
    for start in range(0, keys, N):
        scores = tl.dot(q, ks.load([start, 0]).T)
        new = tl.maximum(highest, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - new[:, None])
        change = tl.exp2(highest - new)
        total = total * change + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v_ptr.dtype.element_ty), vs.load([start, 0]), acc * change[:, None])
        highest = new
    out = tl.make_tensor_descriptor(o_ptr, [keys, HEAD], [HEAD, 1], [M, HEAD])
    out.store([first, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def exchanged(q_ptr, k_ptr, v_ptr, o_ptr, keys, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    q = tl.make_tensor_descriptor(q_ptr, [keys, HEAD], [HEAD, 1], [M, HEAD]).load([tl.program_id(0) * M, 0])
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    acc = tl.zeros((M, HEAD), tl.float32)
    highest = tl.full((M,), -float("inf"), tl.float32)
    for start in range(0, keys, N):
        scores = tl.dot(q, ks.load([start, 0]).T)
        new = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        change = tl.gather(tl.exp2(highest - new), M - 1 - tl.arange(0, M), 0)
        acc = tl.dot(weights.to(tl.float16), vs.load([start, 0]), acc * change[:, None])
        highest = new
    tl.make_tensor_descriptor(o_ptr, [keys, HEAD], [HEAD, 1], [M, HEAD]).store([tl.program_id(0) * M, 0], acc.to(tl.float16))
