"""A persistent loop around the loop over K: the next tile's first copies start after the MMAs, and a tile's store stays in flight."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,i32' | FileCheck %s
# RUN: tilewright compile %s --kernel waits --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,i32,*i32' | FileCheck %s --check-prefix=WAITS
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,i32,PURE=True' | FileCheck %s --check-prefix=WHY
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,i32,PURE=False' | FileCheck %s --check-prefix=IMPURE
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,i32' | FileCheck %s --check-prefix=WHY

import triton
import triton.language as tl


# The first tile's copies, before both loops.
# CHECK: scf.if
# CHECK: ttg.tma_load
# CHECK: scf.for
# CHECK-NOT: tma_load
# CHECK: scf.for
# CHECK: ttg.mma_async
# CHECK: ttg.tma_load
# CHECK: ttg.loop_schedule
# The next tile's copies start when all threads have read the stages.
# CHECK: ttg.mma_async_wait 0
# CHECK-NEXT: ttg.cta_barrier
# CHECK: scf.if
# CHECK: ttg.tma_load
# The buffer is free when the previous store has read it; no warp waits for this one.
# CHECK: ttg.tma_store_wait 0
# CHECK-NEXT: ttg.cta_barrier
# CHECK: ttg.store_shared
# CHECK: ttg.tma_store
# CHECK-NOT: ttg.tma_store_wait
# CHECK: }
# CHECK: ttg.tma_store_wait 0
# WHY: 3 stages of 16384 bytes{{.*}}; prefetches across tiles
# Assembly may wait for another program, but not if it is pure.
# IMPURE-NOT: prefetches across tiles
@triton.jit
def product(a_ptr, b_ptr, out_ptr, M, N, K, programs, PURE: tl.constexpr = None):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [64, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [64, 64])
    out_desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [64, 64])
    columns = tl.cdiv(N, 64)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, 64) * columns, programs):
        row, column = tile // columns * 64, tile % columns * 64
        acc = tl.zeros((64, 64), dtype=tl.float32)
        for start in range(0, K, 64):
            acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]), acc)
        if PURE is not None:
            acc = tl.inline_asm_elementwise("ex2.approx.f32 $0, $1;", "=r,r", [acc], dtype=tl.float32, is_pure=PURE, pack=1)
        out_desc.store([row, column], acc)


# A tile's inputs may not be written before the program has waited for them.
# WAITS: scf.for
# WAITS: tt.atomic_rmw
# WAITS: ttg.tma_load
# WAITS: scf.for
# WAITS: ttg.mma_async_wait 0
# WAITS-NOT: ttg.tma_load
@triton.jit
def waits(a_ptr, b_ptr, out_ptr, M, N, K, programs, ready):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [64, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [64, 64])
    columns = tl.cdiv(N, 64)
    i = tl.arange(0, 64)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, 64) * columns, programs):
        tl.atomic_add(ready, 1)
        row, column = tile // columns * 64, tile % columns * 64
        acc = tl.zeros((64, 64), dtype=tl.float32)
        for start in range(0, K, 64):
            acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]), acc)
        tl.store(out_ptr + (row + i)[:, None] * N + column + i[None, :], acc)
