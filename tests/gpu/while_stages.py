"""A `while` loop carries the stage of the copies that its inner loop starts ahead: they go to different stages, so none waits for another."""
# RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32:16' --num-stages 3 --target cuda:sm_90a --until insert-barriers | FileCheck %s

import triton
import triton.language as tl


# CHECK: scf.while
# CHECK: ttg.copy_async
# CHECK: ttg.tma_load
# CHECK-NOT: ttg.copy_wait
# CHECK: ttg.copy_async
# CHECK: ttg.tma_load
# CHECK: scf.for
# CHECK: ttg.copy_wait 1
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, tiles, K):
    tile = tl.program_id(0)
    columns = tl.arange(0, 128)
    while tile < tiles:
        rows = tile * 128 + tl.arange(0, 128)
        acc = tl.zeros((128, 128), tl.float32)
        for start in tl.range(0, K, 64):
            k = start + tl.arange(0, 64)
            a = tl.load(a_ptr + rows[:, None] * K + k[None, :])
            acc = tl.dot(a, tl.load(b_ptr + columns[None, :] * K + k[:, None]), acc)
        tl.store(c_ptr + rows[:, None] * 128 + columns[None, :], acc)
        tile += tl.num_programs(0)
