"""Dots with more precision than tf32 become several dots of tf32 or bf16 on tensor cores; other ones use f32 multiply-add."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature 'a=*fp32:16,b=*fp32:16,c=*fp32:16,K=64,M=64,P="tf32x3"' | FileCheck %s --check-prefix=TF32
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature 'a=*fp32:16,b=*fp32:16,c=*fp32:16,K=32,M=32,P="bf16x3"' | FileCheck %s --check-prefix=BF16
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --until split-precision --signature 'a=*fp32:16,b=*fp32:16,c=*fp32:16,K=32,M=32,P="bf16x6"' | FileCheck %s --check-prefix=SIX
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature 'a=*fp32:16,b=*fp32:16,c=*fp32:16,K=8,M=32,P="bf16x3"' | FileCheck %s --check-prefix=PLAIN
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature 'a=*fp32:16,b=*fp32:16,c=*fp32:16,K=32,M=32,P="ieee"' | FileCheck %s --check-prefix=PLAIN

# TF32: wgmma.mma_async{{.*}}.f32.tf32.tf32
# BF16: mma.sync{{.*}}.f32.bf16.bf16.f32
# SIX-COUNT-6: tt.dot
# SIX-NOT: tt.dot
# PLAIN-NOT: mma
# PLAIN: fma.rn.f32

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M: tl.constexpr, K: tl.constexpr, P: tl.constexpr):
    m, k = tl.arange(0, M), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * M + m[None, :])
    tl.store(c + m[:, None] * M + m[None, :], tl.dot(x, y, input_precision=P))
