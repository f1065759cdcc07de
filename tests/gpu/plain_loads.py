"""In a loop with a reduction, which is a barrier, the next iteration's load is issued before it. Without a barrier the loop is unrolled, and ptxas moves the loads."""
# RUN: tilewright compile %s --kernel softmax --target cuda:sm_90a --until pipeline-loops --signature 'x=*fp32:16,out=*fp32:16,rows=i32,stride=i32:16,BLOCK=2048' | FileCheck %s
# RUN: tilewright explain %s --kernel softmax --target cuda:sm_90a --signature 'x=*fp32:16,out=*fp32:16,rows=i32,stride=i32:16,BLOCK=2048' | FileCheck %s --check-prefix=EXPLAIN
# RUN: tilewright compile %s --kernel total --target cuda:sm_90a --until pipeline-loops --signature 'x=*fp32:16,out=*fp32:16,rows=i32,stride=i32:16,BLOCK=2048' | FileCheck %s --check-prefix=TOTAL
# RUN: tilewright compile %s --kernel waits --target cuda:sm_90a --until pipeline-loops --signature 'x=*fp32:16,out=*fp32:16,flag=*i32,rows=i32,BLOCK=2048' | FileCheck %s --check-prefix=WAITS
# RUN: tilewright compile %s --kernel fed --target cuda:sm_90a --until schedule-loops --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,flag=*i32,K=i32:16' | FileCheck %s --check-prefix=FED
# RUN: tilewright run %s --kernel softmax --interpret --grid 3 --arg 'x=randn:f32[7,2048]' --arg 'out=empty:f32[7,2048]' --arg rows=7 --arg stride=2048 --arg BLOCK=2048 --out out=%t.npy
# RUN: tilewright run %s --kernel softmax --simulate --grid 3 --arg 'x=randn:f32[7,2048]' --arg 'out=empty:f32[7,2048]' --arg rows=7 --arg stride=2048 --arg BLOCK=2048 --check out=%t.npy --rtol 1e-5 --atol 1e-7
import triton
import triton.language as tl


# CHECK: #schedule = #ttg.loop_schedule<policy "plain-loads"
# CHECK: tt.load
# CHECK: scf.for
# CHECK: tt.load
# CHECK-NEXT: ptx.warp_barrier
# CHECK: tt.reduce
# EXPLAIN: loads to registers are issued an iteration early
@triton.jit
def softmax(x, out, rows, stride, BLOCK: tl.constexpr):
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * stride + tl.arange(0, BLOCK))
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(out + row * stride + tl.arange(0, BLOCK), e / tl.sum(e, axis=0))


# TOTAL-NOT: ptx.warp_barrier
@triton.jit
def total(x, out, rows, stride, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        acc += tl.load(x + row * stride + tl.arange(0, BLOCK))
    tl.store(out, tl.sum(acc))


# A load does not move before the volatile load by which a program waits for its data.
# WAITS: scf.for
# WAITS-NOT: ptx.warp_barrier
# WAITS: isVolatile
# WAITS: tt.load
@triton.jit
def waits(x, out, flag, rows, BLOCK: tl.constexpr):
    for row in range(rows):
        while tl.load(flag + row, volatile=True) == 0:
            pass
        v = tl.load(x + row * BLOCK + tl.arange(0, BLOCK))
        tl.store(out + row, tl.sum(v))


# The same for copies by TMA.
# FED: ttg.not_pipelined = "the loop may wait for data that another program writes"
@triton.jit
def fed(a, b, c, flag, K):
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 64):
        while tl.load(flag + start // 64, volatile=True) == 0:
            pass
        acc = tl.dot(tl.load(a + m[:, None] * K + (start + k)[None, :]), tl.load(b + (start + k)[:, None] * 64 + n[None, :]), acc)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)
