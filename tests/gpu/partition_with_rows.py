"""Attention backward with tcgen05. A warp of its own issues the MMAs, and waits for tiles. The threads wait for rows of numbers.

RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp16:16, i32:16' --target cuda:sm_100a --num-warps 4 --num-stages 2 --until specialize-warps > %t.mlir
RUN: FileCheck %s < %t.mlir
CHECK: buffers [<tma depth 2 {{.*}} first_warp true>, <tma depth 2 {{.*}} first_warp true>, <tma depth 2 writers [{{[0-9]+}}] release {{[0-9]+}}>]
CHECK: default {
CHECK-COUNT-2: ttg.tensor_load
CHECK-NEXT: ttg.barrier_wait %[[rows:[0-9]+]][{{.*}} : <2>
CHECK-NEXT: ttg.load_shared {{.*}} -> tensor<64xf32
CHECK-NEXT: ttg.fence_async
CHECK-NEXT: ttg.barrier_arrive %[[empty:[0-9]+]][{{.*}} : <2>
CHECK: partition0() num_warps(1) {
CHECK: ttg.barrier_wait %[[empty]][
CHECK: ttg.tma_load {{.*}} %[[rows]][
CHECK: partition1() num_warps(1) {
CHECK-NOT: %[[rows]][
CHECK-COUNT-4: ttg.tcgen05_mma
"""

import triton
import triton.language as tl


@triton.jit
def backward(k_ptr, q_ptr, g_ptr, delta_ptr, out_ptr, n):
    rows, columns = tl.arange(0, 128), tl.arange(0, 64)
    k = tl.load(k_ptr + rows[:, None] * 64 + columns[None, :])
    dk = tl.zeros((128, 64), tl.float32)
    dv = tl.zeros((128, 64), tl.float32)
    steps = tl.arange(0, 64)
    for start in range(0, n, 64):
        at = (start + steps)[:, None] * 64 + columns[None, :]
        q, g = tl.load(q_ptr + at), tl.load(g_ptr + at)
        scores, changes = tl.dot(k, q.T), tl.dot(k, g.T)
        weights = tl.exp2(scores)
        dv = tl.dot(weights.to(tl.float16), g, dv)
        changes = weights * (changes - tl.load(delta_ptr + start + steps)[None, :])
        dk = tl.dot(changes.to(tl.float16), q, dk)
    tl.store(out_ptr + rows[:, None] * 64 + columns[None, :], (dk + dv).to(tl.float16))
