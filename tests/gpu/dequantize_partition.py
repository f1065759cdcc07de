"""A separate warp group dequantizes the second operand of a dot, row by row, into a circular buffer. Two consumer warp groups dequantize the first
one in registers, half of its rows at a time, while the MMAs of the other half run. A producer starts the copies. The dequantize partition also loads
the scales of both, 16 bytes of a row at a time if rows begin at multiples of 16 bytes. It passes those of the first operand through shared memory."""
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BLOCK_M=256,STORES=False' --num-warps 8 --num-stages 4 | FileCheck %s
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ptx --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BLOCK_M=256,STORES=False' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=PTX
# RUN: tilewright explain %s --kernel scaled --target cuda:sm_90a --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BLOCK_M=256,STORES=False' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=WHY
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BLOCK_M=128,STORES=False' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=SMALL
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BLOCK_M=256,STORES=True' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=SMALL
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32,stride=i32:16,BLOCK_M=256,STORES=False' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=SMALL
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until schedule-loops --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BLOCK_M=256,STORES=False' --num-warps 8 --num-stages 4 > %t.mlir
# RUN: FileCheck %s --check-prefix=SCHEDULE < %t.mlir
# RUN: sed 's/operand_plan <release 6/operand_plan <release 4/' %t.mlir > %t.operand.mlir && not tilewright opt %t.operand.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=OPERAND
# RUN: sed 's/tma depth 4 writers \[1\] release 2>/tma depth 4 writers [1] release 0>/' %t.mlir > %t.copies.mlir && not tilewright opt %t.copies.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=COPIES
# RUN: sed 's/\(tma depth 4 writers \[[13]\] release\) 2>/\1 4>/g' %t.mlir > %t.release4.mlir && not tilewright opt %t.release4.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=FENCE
# RUN: sed 's/\(tma depth 4 writers \[[13]\] release\) 2>/\1 6>/g' %t.mlir > %t.release6.mlir && not tilewright opt %t.release6.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=FENCE
# RUN: sed 's/\(tma depth 4 writers \[[13]\] release\) 2>/\1 8>/g' %t.mlir > %t.release8.mlir && not tilewright opt %t.release8.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=FENCE
# RUN: sed '/ttg.fence_async {ttg.partition/d' %t.mlir > %t.unfenced.mlir && not tilewright opt %t.unfenced.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=UNFENCED
# RUN: sed 's/threads depth 4/threads depth 5/' %t.mlir > %t.depth.mlir && not tilewright opt %t.depth.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=DEPTH
# RUN: sed 's/<threads depth 4 writers \[6, 7\] release 0>, //' %t.mlir > %t.none.mlir && not tilewright opt %t.none.mlir --pipeline-loops 2>&1 | FileCheck %s --check-prefix=UNBUFFERED
# RUN: tilewright run %s --simulate --kernel scaled --grid 1 --num-warps 8 --num-stages 3 --arg a='randint(0,120):u8[256x640]' --arg b='randint(0,120):u8[128x640]' --arg sa='randint(118,130):u8[256x20]' --arg sb='randint(118,130):u8[128x20]' --arg out=zeros:f16[256x128] --arg M=256 --arg N=128 --arg K=640 --arg stride=20 --arg BLOCK_M=256 --arg STORES=False
# RUN: tilewright run %s --interpret --kernel scaled --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(0,120):fp8e4nv[256x1088]' --arg b='randint(0,120):fp8e4nv[128x1088]' --arg sa='randint(118,130):u8[256x48]' --arg sb='randint(118,130):u8[128x48]' --arg out=zeros:f32[256x128] --arg M=250 --arg N=120 --arg K=1088 --arg stride=48 --arg BLOCK_M=256 --arg STORES=False --out out=%t.npy
# RUN: tilewright run %s --simulate --kernel scaled --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(0,120):fp8e4nv[256x1088]' --arg b='randint(0,120):fp8e4nv[128x1088]' --arg sa='randint(118,130):u8[256x48]' --arg sb='randint(118,130):u8[128x48]' --arg out=zeros:f32[256x128] --arg M=250 --arg N=120 --arg K=1088 --arg stride=48 --arg BLOCK_M=256 --arg STORES=False --check out=%t.npy --rtol 1e-3 --atol 1e-3

# CHECK: ttg.alloc_barriers {arrivals = 12
# CHECK: ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 88>}
# CHECK-NEXT: default {
# CHECK: scf.for
# CHECK: ttg.barrier_wait
# CHECK: ttg.load_shared {{.*}} -> tensor<256x64xf8E4M3FN
# CHECK-NOT: ttg.store_shared
# CHECK: ttg.fence_async
# CHECK-NEXT: ttg.barrier_arrive [[COPIED:%[0-9]+]][
# CHECK-NEXT: ttg.barrier_wait
# CHECK-NEXT: ttg.load_shared {{.*}} -> tensor<256x2xi8
# CHECK-NOT: tt.load
# CHECK: ttg.mma_async {{.*}} : tensor<128x64xf16
# CHECK-NOT: tt.load
# CHECK: ttg.mma_async_wait 1
# CHECK: ttg.barrier_arrive [[RIGHT:%[0-9]+]][
# CHECK: ttg.mma_async {{.*}} : tensor<128x64xf16
# CHECK-NEXT: ttg.mma_async_wait 1
# CHECK-NOT: ttg.cta_barrier
# CHECK: scf.yield
# CHECK: ttg.barrier_wait
# CHECK: ttg.load_shared {{.*}} -> tensor<128x2xi8
# CHECK: tt.reduce
# CHECK: tt.reduce
# CHECK: ttg.mma_async_wait 0
# CHECK: scf.if
# CHECK: ttg.mma_async {{.*}}bf16

# CHECK: partition0() num_warps(1) {
# CHECK: scf.for
# CHECK: ttg.barrier_wait [[COPIED]][
# CHECK: ttg.barrier_expect {{.*}}, 16384
# CHECK: ttg.tma_load
# CHECK: ttg.barrier_expect {{.*}}, 8192
# CHECK: ttg.tma_load

# The dequantize partition waits until the MMAs have read the previous contents of its stage, and for the copies. A stage is full after all its warps
# have fenced. It also releases the stages of the copies.
# CHECK: partition1() num_warps(4) {
# CHECK: scf.for
# CHECK: ttg.barrier_wait [[RIGHT]][
# CHECK: ttg.barrier_wait
# CHECK: ttg.load_shared {{.*}} -> tensor<64x128xf8E4M3FN
# CHECK-NOT: ttg.barrier_wait
# CHECK: ttg.store_shared {{.*}} : tensor<256x2xi8
# CHECK: ttg.store_shared {{.*}} : tensor<64x128xf16
# CHECK-NEXT: ttg.fence_async
# CHECK-NEXT: ttg.barrier_arrive
# CHECK-NEXT: ttg.barrier_arrive
# CHECK: tt.load {{.*}}{ttg.aligned_words, ttg.vector = 2 : i32} : tensor<256x2x!tt.ptr<i64>
# CHECK: tt.load {{.*}}{ttg.aligned_words, ttg.vector = 2 : i32} : tensor<128x2x!tt.ptr<i64>
# CHECK: scf.yield

# After the loop, it compares the exponents that it has seen, and passes on the result.
# CHECK: arith.cmpi ugt
# CHECK: ttg.store_shared {{.*}} : tensor<{{128|256}}x2xi8
# CHECK-NEXT: ttg.barrier_arrive

# The copies are released after the consumers' last read (order 1), the dequantized operand after the wait that drains its MMAs (order 5).
# SCHEDULE: buffers [<tma depth 4 writers [1] release 2>, <tma depth 4 writers [3] release 2>, <threads depth 4 writers [6, 7] release 0>
# OPERAND: error: its schedule is invalid: a stage of a computed operand is released while it is still being read
# COPIES: error: its schedule is invalid: a stage is released while it is still being read
# FENCE: error: its schedule is invalid: a stage is not released at a read of the consumers, which a fence follows
# UNFENCED: error: its schedule is invalid: no fence of the partition stands after the operands that it computes
# DEPTH: error: its schedule is invalid: buffers of copies and of the operands that a partition computes differ in depth
# UNBUFFERED: error: its schedule is invalid: a partition stores an operand for which there is no buffer

# PTX: .reqntid 512
# PTX: setmaxnreg.dec.sync.aligned.u32 88
# PTX: st.shared.v4
# PTX: fence.proxy.async
# PTX: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
# PTX: wgmma.wait_group.sync.aligned 1

# WHY: warp specialization: 1 warp for copies, 4 warps for dequantization
# WHY: wgmma m64n128k16, A dequantized in registers, B in shared memory
# WHY: wgmma m64n128k16, A and B in shared memory
# WHY: a partition dequantizes the second operand, and the consumers the first
# WHY-NEXT: one, half of their rows at a time

# There is no dequantize partition if few accumulators leave space for a second CTA, if unaligned rows exclude TMA, or if the loop stores.
# SMALL-NOT: partition1
import triton
import triton.language as tl


@triton.jit
def scaled(a, b, sa, sb, out, M, N, K, stride, BLOCK_M: tl.constexpr, STORES: tl.constexpr):
    i, j, k, groups = tl.arange(0, BLOCK_M), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 2)
    rows, columns = i % M, j % N
    total = tl.zeros((BLOCK_M, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + rows[:, None] * K + (start + k)[None, :])
        y = tl.load(b + columns[None, :] * K + (start + k)[:, None])
        x_scale = tl.load(sa + rows[:, None] * stride + (start // 32 + groups)[None, :])
        y_scale = tl.load(sb + columns[:, None] * stride + (start // 32 + groups)[None, :])
        total = tl.dot_scaled(x, x_scale, "e4m3", y, y_scale, "e4m3", total)
        if STORES:
            tl.store(out + start + k, k.to(out.dtype.element_ty))
    tl.store(out + i[:, None] * N + j[None, :], total.to(out.dtype.element_ty), mask=(i < M)[:, None] & (j < N)[None, :])
