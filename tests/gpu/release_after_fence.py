"""Each release of stages that threads have read stands after a fence of its own: TMA fills these stages again, by the other proxy."""
# RUN: tilewright compile %s --kernel rows --target cuda:sm_100a --num-warps 4 --num-stages 3 --emit ttg --signature '*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,i32:16,i32:16' | FileCheck %s

import triton
import triton.language as tl


# Threads read the scales before the dot, whose operands are released after it. Nothing but MMAs reads these.
# CHECK: ttg.load_shared
# CHECK-NEXT: ttg.fence_async
# CHECK-NEXT: ttg.barrier_arrive
# CHECK: ttg.tcgen05_mma
# CHECK-NOT: ttg.fence_async
# CHECK: ttg.barrier_arrive
@triton.jit
def rows(a_ptr, b_ptr, s_ptr, o_ptr, M, N, K):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [128, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [64, 128])
    s_desc = tl.make_tensor_descriptor(s_ptr, [K * 2], [1], [128])
    row, column = tl.program_id(0) * 128, tl.program_id(1) * 128
    acc = tl.zeros((128, 128), tl.float32)
    for start in tl.range(0, K, 64, warp_specialize=True):
        scale = tl.sum(s_desc.load([start * 2]), 0)
        p = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]))
        acc += p * scale
    o_desc = tl.make_tensor_descriptor(o_ptr, [M, N], [N, 1], [128, 128])
    o_desc.store([row, column], acc)
