"""With two CTAs per program, each recomputes the half of the transposed offsets and mask that it needs."""
# RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32:16' --target cuda:sm_90a --num-ctas 2 --num-warps 8 --until split-ctas | FileCheck %s
# RUN: tilewright run %s --num-ctas 2 --num-warps 8 --grid 1 --arg a_ptr="randint(-3,4):f16[256,64]" --arg b_ptr="randint(-3,4):f16[64,128]" \
# RUN:   --arg c_ptr=zeros:f32[256,128] --arg M=200 --arg K=64 --out c_ptr=%t.npy
# RUN: tilewright run %s --num-ctas 2 --num-warps 8 --grid 1 --arg a_ptr="randint(-3,4):f16[256,64]" --arg b_ptr="randint(-3,4):f16[64,128]" \
# RUN:   --arg c_ptr=zeros:f32[256,128] --arg M=200 --arg K=64 --simulate --check c_ptr=%t.npy --rtol 0 --atol 0

import triton
import triton.language as tl


# CHECK: ptx.cluster_rank
# CHECK: tt.trans %{{.*}} : tensor<64x128xi32> -> tensor<128x64xi32>
# CHECK: tt.trans %{{.*}} : tensor<1x128xi1> -> tensor<128x1xi1>
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, K):
    i, j, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    offsets = tl.trans(k[:, None] + i[None, :] * K)
    for start in range(0, K, 64):
        a = tl.load(a_ptr + offsets + start)
        b = tl.load(b_ptr + (start + k[:, None]) * 128 + j[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + i[:, None] * 128 + j[None, :], total, mask=tl.trans(i[None, :] < M))
