# tl.dot_scaled by mma.sync with block scales (sm_120a): operands and scales stay in their formats. Other GPUs dequantize to bf16 or fp16.
# DEFINE: %{a} =
# DEFINE: %{b} =
# DEFINE: %{target} =
# DEFINE: %{stage} =
# DEFINE: %{scales} = *u8:16
# DEFINE: %{compile} = tilewright %{stage} %s --kernel loop --signature 'a=*u8:16, sa=%{scales}, b=*u8:16, sb=%{scales}, c=*fp32:16, k=i32:16, M=64, N=64, K=128, A="%{a}", B="%{b}"' --target cuda:%{target}
# REDEFINE: %{target} = sm_120a
# REDEFINE: %{stage} = explain
# REDEFINE: %{a} = e4m3
# REDEFINE: %{b} = e2m1
# RUN: %{compile} | FileCheck %s --check-prefixes=EXPLAIN,MIXED
# REDEFINE: %{a} = e2m1
# RUN: %{compile} | FileCheck %s --check-prefixes=EXPLAIN,PAIRS
# REDEFINE: %{target} = sm_90a
# RUN: %{compile} | FileCheck %s --check-prefix=WITHOUT
import triton
import triton.language as tl


# MIXED: Dots
# MIXED: 64x128 e4m3 * 128x64 e2m1 -> 64x64 f32: mma.sync m16n8k32 mxf8f6f4, A, B and scales in registers
# PAIRS: Dots
# PAIRS: 64x128 e2m1 * 128x64 e2m1 -> 64x64 f32: mma.sync m16n8k64 mxf4nvf4, A, B and scales in registers
# EXPLAIN: Loops
# EXPLAIN: {{3|4}} stages
# EXPLAIN: Buffers in shared memory
# EXPLAIN: read in L{{[0-9]+}} as 8x8 matrices
# WITHOUT: Dots
# WITHOUT-NOT: mxf
# WITHOUT: bf16
@triton.jit
def loop(a, sa, b, sb, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    m, n, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K // A_PACK), tl.arange(0, K // 2)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        x = tl.load(a + m[:, None] * k + (start // A_PACK + ka)[None, :])
        y = tl.load(b + n[None, :] * k + (start // 2 + kb)[:, None])
        s = tl.load(sa + m[:, None] * k + (start // 32 + groups)[None, :])
        t = tl.load(sb + n[:, None] * k + (start // 32 + groups)[None, :])
        acc = tl.dot_scaled(x, s, A, y, t, B, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)
