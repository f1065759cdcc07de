# Turing: MMAs of half the depth, copies to shared memory through registers, reductions of a warp by shuffles, bf16 in fp32.
# DEFINE: %{type} =
# DEFINE: %{sum} =
# DEFINE: %{compile} = tilewright compile %s --kernel product --signature '*%{type}:16, *%{type}:16, *%{sum}:16, i32:16, 64, 64, 32' --target cuda:sm_75 --emit ptx
# DEFINE: %{run} = tilewright run %s --kernel product --arg a="randint(-3,4):%{type}[32,128]" --arg b="randint(-3,4):%{type}[128,32]" --arg c=zeros:%{sum}[32,32] --arg k=128 --arg M=32 --arg N=32 --arg K=64 --grid 1
# REDEFINE: %{type} = fp16
# REDEFINE: %{sum} = fp32
# RUN: %{compile} | FileCheck %s --check-prefix=FP16
# REDEFINE: %{sum} = fp16
# RUN: %{compile} | FileCheck %s --check-prefix=SUMS
# REDEFINE: %{type} = i8
# REDEFINE: %{sum} = i32
# RUN: %{compile} | FileCheck %s --check-prefix=INT8
# REDEFINE: %{type} = bf16
# REDEFINE: %{sum} = fp32
# RUN: %{compile} | FileCheck %s --check-prefix=BF16
# RUN: tilewright compile %s --kernel largest --signature '*i32:16, *i32:16, 128' --target cuda:sm_75 --emit ptx | FileCheck %s --check-prefix=MAX
# RUN: not tilewright compile %s --kernel largest --signature '*i32:16, *i32:16, 128' --target cuda:sm_70 2>&1 | FileCheck %s --check-prefix=VOLTA
# REDEFINE: %{type} = f16
# REDEFINE: %{sum} = f32
# RUN: %{run} --out c=%t.npy
# RUN: %{run} --simulate=cuda:sm_75 --check c=%t.npy --rtol 0 --atol 0
# REDEFINE: %{type} = i8
# REDEFINE: %{sum} = i32
# RUN: %{run} --out c=%t.npy
# RUN: %{run} --simulate=cuda:sm_75 --check c=%t.npy --rtol 0 --atol 0
import triton
import triton.language as tl


# FP16: .target sm_75
# FP16-NOT: cp.async
# FP16: ldmatrix.sync.aligned.m8n8.x4
# FP16-NOT: m16n8k16
# FP16: mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
# SUMS: mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16
# INT8-COUNT-4: mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32
# BF16-NOT: mma.sync
# BF16: fma.rn.f32
@triton.jit
def product(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, depth = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), c.dtype.element_ty)
    for start in range(0, k, K):
        x = tl.load(a + m[:, None] * k + (start + depth)[None, :])
        y = tl.load(b + (start + depth)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc, out_dtype=c.dtype.element_ty)
    tl.store(c + m[:, None] * N + n[None, :], acc)


# MAX-NOT: redux
# MAX-COUNT-5: shfl.sync.bfly
# MAX-NOT: redux
# VOLTA: there is no target 'cuda:sm_70'
@triton.jit
def largest(x, out, N: tl.constexpr):
    tl.store(out, tl.max(tl.load(x + tl.arange(0, N)), 0))
