"""RUN: tilewright compile %s --kernel persistent --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, M=128, N=128, K=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 3 --until specialize-warps | FileCheck %s
RUN: tilewright explain %s --kernel persistent --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, M=128, N=128, K=64' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 3 | FileCheck %s --check-prefix=EXPLAIN

While a tile is stored, a warp of its own multiplies the next one in other columns. Its commits release the operands and the sums.

CHECK: %[[memory:.*]] = ttg.tensor_alloc 256
CHECK-DAG: %[[sums:.*]] = ttg.tensor_tile %[[memory]], 0 {depth = 2 : i32} : <128x128xf32>
CHECK: ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 24>}
CHECK: default {
CHECK: scf.for
CHECK-NOT: scf.for
CHECK: ttg.barrier_wait %[[full:.*]][%{{.*}}], %{{.*}} {tensorMemory} : <2>
CHECK: ttg.tensor_load
CHECK: ttg.barrier_arrive %[[empty:.*]][%{{.*}}] : <2>
CHECK: ttg.tma_store
CHECK: ttg.tensor_free %[[memory]]
CHECK: partition0() num_warps(1)
CHECK: ttg.barrier_wait %[[read:.*]][
CHECK: ttg.tma_load
CHECK: partition1() num_warps(1)
CHECK: scf.for
CHECK: ttg.barrier_wait %[[empty]][{{.*}} {tensorMemory}
CHECK: ttg.tensor_stage %[[sums]]
CHECK: scf.for
CHECK: ttg.barrier_wait {{.*}} {firstWarp}
CHECK: ttg.tcgen05_mma
CHECK: ttg.tcgen05_commit %[[read]][
CHECK: ttg.tcgen05_commit %[[full]][
CHECK-NOT: ttg.tcgen05_wait

EXPLAIN: warp specialization: 1 warp for copies, 1 warp for MMAs
"""

import triton
import triton.language as tl


@triton.jit
def persistent(a_ptr, b_ptr, c_ptr, rows, columns, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [columns, depth], [depth, 1], [N, K])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, tl.num_programs(0)):
        m, n = tile // across * M, tile % across * N
        acc = tl.zeros((M, N), tl.float32)
        for k in range(0, depth, K):
            acc = tl.dot(a.load([m, k]), b.load([n, k]).T, acc)
        c.store([m, n], acc.to(tl.float16))
