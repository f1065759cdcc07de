"""Accumulators are narrowed in pairs if warps exchange registers. ptxas makes a pair of a single narrowed value, and then serializes the MMAs."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 5 --num-ctas 2 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=224,HALVES=False' --emit ptx | FileCheck %s
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 5 --num-ctas 2 --signature 'a=*bf16:16,b=*bf16:16,c=*bf16:16,M=i32,N=i32:8,K=i32:8,BM=224,HALVES=False' --emit ptx | FileCheck %s
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-warps 8 --num-stages 4 --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,M=i32,N=i32:8,K=i32:8,BM=128,HALVES=True' --emit ptx | FileCheck %s --check-prefixes=CHECK,ALONE
# RUN: tilewright run %s --kernel product --grid '2, 1' --arg 'a=randint(-4,4):f16[232x72]' --arg 'b=randint(-4,4):f16[72x104]' --arg c=zeros:f16[232x104] --arg M=232 --arg N=104 --arg K=72 --arg BM=224 --arg HALVES=True --out c=%t.npy
# RUN: tilewright run %s --simulate --kernel product --grid '2, 1' --num-warps 8 --num-stages 5 --num-ctas 2 --arg 'a=randint(-4,4):f16[232x72]' --arg 'b=randint(-4,4):f16[72x104]' --arg c=zeros:f16[232x104] --arg M=232 --arg N=104 --arg K=72 --arg BM=224 --arg HALVES=True --check c=%t.npy
# RUN: tilewright run %s --kernel product --grid '2, 1' --arg 'a=randint(-4,4):f16[232x72]' --arg 'b=randint(-4,4):f16[72x104]' --arg c=zeros:f16[232x104] --arg M=232 --arg N=104 --arg K=72 --arg BM=224 --arg HALVES=False --out c=%t.npy
# RUN: tilewright run %s --simulate --kernel product --grid '2, 1' --num-warps 8 --num-stages 5 --num-ctas 2 --arg 'a=randint(-4,4):f16[232x72]' --arg 'b=randint(-4,4):f16[72x104]' --arg c=zeros:f16[232x104] --arg M=232 --arg N=104 --arg K=72 --arg BM=224 --arg HALVES=False --check c=%t.npy

# 8 of 112 columns are next to zeros in a thread's 16 bytes; halves that are compared are not stored in pairs.
# CHECK: setmaxnreg
# CHECK-NOT: cvt.rn.{{b?}}f16.f32
# ALONE: cvt.rn.f16x2.f32 pair, 0f00000000, {{.*}} cvt.u16.u32

import triton
import triton.language as tl


@triton.jit(any_size=True)
def product(a, b, c, M, N, K, BM: tl.constexpr, HALVES: tl.constexpr):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * 128 + tl.arange(0, 128)
    total = tl.zeros((128, BM), tl.float32)
    for start in tl.range(0, K, 64, warp_specialize=True):
        ks = start + tl.arange(0, 64)
        x = tl.load(a + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        y = tl.load(b + ks[:, None] * N + columns[None, :], mask=(ks[:, None] < K) & (columns[None, :] < N), other=0.0)
        total = tl.dot(y.T, x.T, total)
    h = total.to(c.dtype.element_ty)
    if HALVES:
        h = tl.where(h > 0, h, -h)
    tl.store(c + rows[None, :] * N + columns[:, None], h, mask=(rows[None, :] < M) & (columns[:, None] < N))
