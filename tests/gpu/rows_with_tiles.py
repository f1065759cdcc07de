# RUN: tilewright compile %s --target cuda:sm_90a --emit ttg --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,scale_ptr=*fp32:16,out_ptr=*fp32:16,k=i32:16' | FileCheck %s
# RUN: tilewright compile %s --target cuda:sm_80 --emit ttg --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,scale_ptr=*fp32:16,out_ptr=*fp32:16,k=i32:16' | FileCheck %s --check-prefix=OLDER
# RUN: tilewright run %s --simulate --grid 1 --arg a_ptr=randn:f16[64x256] --arg b_ptr=randn:f16[256x64] --arg scale_ptr=randn:f32[256] --arg out_ptr=zeros:f32[64x64] --arg k=256
#
# A row of values that each iteration loads next to a dot's tiles is copied with them, and is read from shared memory at its first use: after the MMA.
# A row outside a loop, and any row on a GPU without TMA, goes to registers at once.
# CHECK: tt.load {{.*}} tensor<64x!tt.ptr<f32>
# CHECK: scf.for
# CHECK-NOT: tt.load
# CHECK: ttg.mma_async_wait
# CHECK: ttg.tma_load %scale_ptr_{{.*}} : <1 x f32
# CHECK: ttg.barrier_wait
# CHECK-NEXT: %[[row:.*]] = ttg.load_shared {{.*}} -> tensor<64xf32
# CHECK-NEXT: %[[wide:.*]] = tt.expand_dims %[[row]]
# CHECK-NEXT: %[[all:.*]] = tt.broadcast %[[wide]]
# CHECK-NEXT: arith.mulf {{.*}}%[[all]]
# OLDER-NOT: tma_load
import triton
import triton.language as tl


@triton.jit
def scaled_kernel(a_ptr, b_ptr, scale_ptr, out_ptr, k):
    rows = tl.arange(0, 64)
    total = tl.zeros((64, 64), dtype=tl.float32) + tl.load(scale_ptr + rows)[None, :]
    for start in range(0, k, 64):
        steps = start + tl.arange(0, 64)
        a = tl.load(a_ptr + rows[:, None] * k + steps[None, :])
        b = tl.load(b_ptr + steps[:, None] * 64 + rows[None, :])
        scale = tl.load(scale_ptr + steps)
        total += tl.dot(a, b) * scale[None, :]
    tl.store(out_ptr + rows[:, None] * 64 + rows[None, :], total)
