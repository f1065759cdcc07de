"""A persistent matmul is warp-specialized, and each of two warp groups stores its own rows, so that neither waits for the other."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,128' | FileCheck %s
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,128' | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,64' | FileCheck %s --check-prefix=MEETS
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,128,*i32' | FileCheck %s --check-prefix=MEETS
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,128,*i32' | FileCheck %s --check-prefix=TELLS
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --until schedule-loops --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,out_ptr=*fp16:16,M=i32:16,N=i32:16,K=i32:16,programs=i32,STEP=128,ASSEMBLY=True' > %t.assembly.mlir
# RUN: sed 's/stores_in_flight true/stores_in_flight true stores_per_warp_group true/' %t.assembly.mlir > %t.asked.mlir && not tilewright opt %t.asked.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=ASKED
# RUN: tilewright compile %s --kernel three --target cuda:sm_90a --num-warps 8 --until stage-tma-transfers --signature '*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32' > %t.mlir
# RUN: tilewright opt %t.mlir --schedule-loops | FileCheck %s --check-prefix=THREE
# RUN: sed 's/tensor_map<base = 4/tensor_map<base = 3/' %t.mlir | tilewright opt - --schedule-loops | FileCheck %s --check-prefix=SHARED

import triton
import triton.language as tl


# The map's box is a warp group's half of a tile of 128 rows.
# CHECK: tensor_map<base = 2, {{.*}} box = [64, 64], element = f16
# CHECK: default {
# CHECK: scf.for
# CHECK: ttg.mma_async
# CHECK: ttg.loop_schedule
# CHECK: ttg.mma_async_wait 0
# CHECK-NOT: ttg.cta_barrier
# CHECK: ttg.tma_store_wait 0
# CHECK-NEXT: ptx.barrier {id = 4 : i32, perWarpGroup, threads = 128 : i32}
# CHECK-NEXT: ttg.store_shared
# CHECK-NEXT: ttg.fence_async
# CHECK-NEXT: ptx.barrier {id = 4 : i32, perWarpGroup, threads = 128 : i32}
# CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
# CHECK-NEXT: ttg.tma_store {{.*}} {perWarpGroup}
# CHECK: partition0() num_warps(1) {
# CHECK: ttg.tma_load
# The id of a warp group's barrier is computed.
# PTX: shr.u32 id, id, 7; add.u32 id, id, 4; bar.sync id, 128;
# MMAs that accumulate into one tile are in one piece of inline assembly.
# PTX: wgmma.fence
# PTX: wgmma.mma_async
# PTX-NEXT: wgmma.mma_async
# PTX-NEXT: wgmma.mma_async
# PTX-NEXT: wgmma.mma_async
# If a tile's rows need not start at a multiple of 128, stores of two warp groups may overlap in memory, so they stay in order. So does a store that
# other programs may wait for. A schedule may not ask for it either if assembly before the loop is not pure.
# ASKED: its schedule is invalid: a warp group does not store rows that it alone holds
# MEETS-NOT: perWarpGroup
# MEETS: ttg.tma_store
# MEETS-NOT: perWarpGroup
# Programs that wait for the count must find the stored data: TMA has written it, and not only read its buffers.
# TELLS: cp.async.bulk.tensor.2d.global.shared::cta
# TELLS: cp.async.bulk.wait_group 0;
# TELLS: bar.sync 0;
# TELLS: atom.global.gpu.acq_rel.add.u32
@triton.jit
def product(a_ptr, b_ptr, out_ptr, M, N, K, programs, STEP: tl.constexpr, done_ptr=None, ASSEMBLY: tl.constexpr = False):
    if ASSEMBLY:
        tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [128, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [64, 128])
    out_desc = tl.make_tensor_descriptor(out_ptr, [M, N], [N, 1], [128, 128])
    columns = tl.cdiv(N, 128)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, STEP) * columns, programs):
        row, column = tile // columns * STEP, tile % columns * 128
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for start in range(0, K, 64):
            acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]), acc)
        out_desc.store([row, column], acc.to(tl.float16))
    if done_ptr is not None:
        tl.atomic_add(done_ptr, 1)


# Each two of the stores must be disjoint, or store the same rows: here the second and the third one, with different strides.
# THREE: stores_per_warp_group true
# SHARED-NOT: stores_per_warp_group
@triton.jit
def three(a_ptr, b_ptr, c_ptr, d_ptr, e_ptr, M, N, K, programs):
    a_desc = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [128, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [K, N], [N, 1], [64, 128])
    c_desc = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [128, 128])
    d_desc = tl.make_tensor_descriptor(d_ptr, [M, N], [N, 1], [128, 128])
    e_desc = tl.make_tensor_descriptor(e_ptr, [M, N], [K, 1], [128, 128])
    columns = tl.cdiv(N, 128)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, 128) * columns, programs):
        row, column = tile // columns * 128, tile % columns * 128
        acc = tl.zeros((128, 128), dtype=tl.float32)
        for start in range(0, K, 64):
            acc = tl.dot(a_desc.load([row, start]), b_desc.load([start, column]), acc)
        c_desc.store([row, column], acc.to(tl.float16))
        d_desc.store([row, column], (acc * 2).to(tl.float16))
        e_desc.store([row, column], (acc * 3).to(tl.float16))
