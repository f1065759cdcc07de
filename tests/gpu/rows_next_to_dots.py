# RUN: tilewright compile %s --target cuda:sm_90a --emit ttg --signature 'q_ptr=*fp16:16,k_ptr=*fp16:16,v_ptr=*fp16:16,row_ptr=*fp32:16,out_ptr=*fp32:16,n=i32:16' | FileCheck %s
# RUN: tilewright run %s --simulate --grid 1 --arg q_ptr=randn:f16[64x64] --arg k_ptr=randn:f16[256x64] --arg v_ptr=randn:f16[256x64] --arg row_ptr=randn:f32[256] --arg out_ptr=zeros:f32[64x64] --arg n=256
#
# In a loop with three dots, a row of values arrives together with the last tile that is read before it: one mbarrier serves both, and their bytes are
# announced together.
# CHECK: scf.for
# CHECK-COUNT-2: ttg.barrier_wait
# CHECK-NOT: ttg.barrier_wait
# CHECK: ttg.barrier_expect {{.*}}, 8448 if
# CHECK-NOT: ttg.barrier_wait
# CHECK: ttg.load_shared {{.*}} -> tensor<64xf32
# CHECK-NOT: ttg.barrier_wait
# CHECK: scf.yield
import triton
import triton.language as tl


@triton.jit
def matmuls_kernel(q_ptr, k_ptr, v_ptr, row_ptr, out_ptr, n):
    rows = tl.arange(0, 64)
    q = tl.load(q_ptr + rows[:, None] * 64 + rows[None, :])
    total = tl.zeros((64, 64), dtype=tl.float32)
    for start in range(0, n, 64):
        steps = start + tl.arange(0, 64)
        k = tl.load(k_ptr + steps[:, None] * 64 + rows[None, :])
        v = tl.load(v_ptr + steps[:, None] * 64 + rows[None, :])
        row = tl.load(row_ptr + steps)
        weights = tl.dot(q, k.T) * tl.dot(q, v.T) - row[None, :]
        total = tl.dot(weights.to(tl.float16), k, total)
    tl.store(out_ptr + rows[:, None] * 64 + rows[None, :], total)
