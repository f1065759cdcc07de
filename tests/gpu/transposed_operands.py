# wgmma reads 32-bit operands only along K. Threads transpose operands that are contiguous along the other dimension, in blocks of 4x4: 16 bytes
# in both directions.
# RUN: tilewright explain %s --signature '*fp32:16, *fp32:16, *fp32:16, i32:16' --num-warps 8 --target cuda:sm_90a | FileCheck %s
# RUN: tilewright run %s --arg a="randint(-3,4):f32[128,64]" --arg b="randint(-3,4):f32[64,128]" --arg c=zeros:f32[128,128] --arg k=64 --grid 1 --num-warps 8 --out c=%t.npy
# RUN: tilewright run %s --arg a="randint(-3,4):f32[128,64]" --arg b="randint(-3,4):f32[64,128]" --arg c=zeros:f32[128,128] --arg k=64 --grid 1 --num-warps 8 \
# RUN:   --simulate --check c=%t.npy --rtol 0 --atol 0
import triton
import triton.language as tl


# CHECK: wgmma m64n128k8, A and B in shared memory
# CHECK: Buffers in shared memory
# CHECK: 32x128 f32, {{.*}} dimension 0 contiguous: written in L{{[0-9]+}} 16 bytes
# CHECK: 32x128 f32, {{.*}} written by TMA; read in L{{[0-9]+}} 16 bytes
@triton.jit
def k(a, b, c, k):
    m, n, d = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 32)
    acc = tl.zeros((128, 128), tl.float32)
    for start in range(0, k, 32):
        x = tl.load(a + m[:, None] * k + (start + d)[None, :])
        y = tl.load(b + (start + d)[:, None] * 128 + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 128 + n[None, :], acc)
