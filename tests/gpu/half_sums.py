# fp16 dots with fp16 accumulators use fp16 MMAs: two adjacent elements share a register of the accumulator.
# RUN: tilewright compile %s --kernel looped --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 128, 256, 64' --num-warps 8 --num-stages 4 --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=WGMMA
# RUN: tilewright compile %s --kernel looped --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 32, 32, 32' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=MMA
# RUN: tilewright compile %s --kernel looped --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 64, 64, 32' --target cuda:sm_80 --emit ptx | FileCheck %s --check-prefix=MMA
# RUN: tilewright compile %s --kernel chained --signature '*fp16:16, *fp16:16, *fp16:16' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=CHAIN
# RUN: tilewright run %s --kernel looped --arg a="randint(-3,4):f16[64,128]" --arg b="randint(-3,4):f16[128,128]" --arg c=zeros:f16[64,128] --arg k=128 \
# RUN:   --arg M=64 --arg N=128 --arg K=32 --grid 1 --out c=%t.npy
# RUN: tilewright run %s --kernel looped --arg a="randint(-3,4):f16[64,128]" --arg b="randint(-3,4):f16[128,128]" --arg c=zeros:f16[64,128] --arg k=128 \
# RUN:   --arg M=64 --arg N=128 --arg K=32 --grid 1 --simulate --check c=%t.npy --rtol 0 --atol 0
# RUN: tilewright run %s --kernel looped --arg a="randint(-3,4):f16[64,128]" --arg b="randint(-3,4):f16[128,128]" --arg c=zeros:f16[64,128] --arg k=128 \
# RUN:   --arg M=64 --arg N=128 --arg K=32 --grid 1 --simulate=cuda:sm_80 --check c=%t.npy --rtol 0 --atol 0
# RUN: tilewright run %s --kernel chained --arg a="randint(-1,2):f16[64,64]" --arg b="randint(-1,2):f16[64,64]" --arg c=zeros:f16[64,64] --grid 1 --out c=%t.npy
# RUN: tilewright run %s --kernel chained --arg a="randint(-1,2):f16[64,64]" --arg b="randint(-1,2):f16[64,64]" --arg c=zeros:f16[64,64] --grid 1 \
# RUN:   --simulate --check c=%t.npy --rtol 0 --atol 0
import triton
import triton.language as tl


# The carried accumulators stay packed: nothing is converted in the loop, and a thread holds 64 registers of them.
# WGMMA-NOT: cvt.rn.f16.f32
# WGMMA-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f16.f16.f16
# WGMMA: wgmma.wait_group.sync.aligned 0
# WGMMA-NOT: cvt.rn.f16.f32
# MMA-NOT: cvt.rn.f16.f32
# MMA: mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16
# MMA-NOT: cvt.rn.f16.f32
@triton.jit
def looped(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float16)
    for start in range(0, k, K):
        x = tl.load(a + m[:, None] * k + (start + depth)[None, :])
        y = tl.load(b + (start + depth)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc, out_dtype=tl.float16)
    tl.store(c + m[:, None] * N + n[None, :], acc)


# The result of one dot is the other one's first operand in registers, without a conversion.
# CHAIN-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16
# CHAIN: wgmma.wait_group.sync.aligned 0
# CHAIN-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 {{.*}}{{[{]}}%r{{[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+[}]}}, %rd
@triton.jit
def chained(a, b, c):
    m = tl.arange(0, 64)
    place = m[:, None] * 64 + m[None, :]
    x, y = tl.load(a + place), tl.load(b + place)
    tl.store(c + place, tl.dot(tl.dot(x, y, out_dtype=tl.float16), y, out_dtype=tl.float16))
