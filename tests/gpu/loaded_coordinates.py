"""RUN: tilewright explain %s --kernel grouped --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, *i32:16, i32:16, i32:16, i32, i32:16, WRITES=0' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-stages 4 | FileCheck %s
RUN: tilewright compile %s --kernel grouped --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, *i32:16, i32:16, i32:16, i32, i32:16, WRITES=0' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-stages 4 --until specialize-warps | FileCheck %s --check-prefix=PARTITIONS
RUN: tilewright explain %s --kernel grouped --signature '*fp16:16, *fp16:16, *fp16:16, *i32:16, *i32:16, i32:16, i32:16, i32, i32:16, WRITES=1' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=WRITTEN

A tile's matrix and first row are loaded. The producer loads them itself, so the copies get a warp of their own. It may not if the kernel writes
to the tables.

CHECK-NOT: no warp specialization
CHECK: a warp of its own multiplies
CHECK: out_ptr and group_ptr do not overlap
PARTITIONS: default {
PARTITIONS: partition0() num_warps(1)
PARTITIONS: tt.load
PARTITIONS: tt.load
PARTITIONS: ttg.tma_load
PARTITIONS: partition1() num_warps(1)
PARTITIONS-NOT: tt.load
PARTITIONS: ttg.tcgen05_mma
WRITTEN: no warp specialization: the producer warp cannot compute the addresses of the loads: tt.load: the loop may write what it reads
"""

import triton
import triton.language as tl


@triton.jit
def grouped(x_ptr, w_ptr, out_ptr, group_ptr, first_ptr, rows, n, groups, k, WRITES: tl.constexpr):
    tile, column = tl.program_id(0), tl.program_id(1) * 256
    group, first = tl.load(group_ptr + tile), tl.load(first_ptr + tile)
    x = tl.make_tensor_descriptor(x_ptr, [rows, k], [k, 1], [128, 64])
    w = tl.make_tensor_descriptor(w_ptr, [groups * n, k], [k, 1], [256, 64])
    total = tl.zeros((128, 256), tl.float32)
    for i in range(0, k, 64):
        total = tl.dot(x.load([first, i]), w.load([group * n + column, i]).T, total)
    offsets = (first + tl.arange(0, 128))[:, None] * n + column + tl.arange(0, 256)[None, :]
    tl.store(out_ptr + offsets, total.to(tl.float16), mask=(first + tl.arange(0, 128) < rows)[:, None])
    if WRITES:
        tl.store(group_ptr + tile, 0)
