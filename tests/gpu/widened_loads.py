"""Each iteration dequantizes with one scale of 16 or 32 bits for each column. A thread loads a word of eight bytes, which holds the scales of
several iterations, before a dot by wgmma and before one by mma.sync. Where another iteration's scale is in another row, it loads each scale."""
# RUN: tilewright compile %s --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp16:16,o=*fp32:16,K=i32:16,stride=i32:16' --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp32:16,o=*fp32:16,K=i32:16,stride=i32:16' --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp16:16,o=*fp32:16,K=i32:16,stride=i32:16,M=16' --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp16:16,o=*fp32:16,K=i32:16,stride=i32:16,ROWS=True' --num-stages 3 | FileCheck %s --check-prefix=ROWS
# RUN: tilewright run %s --interpret --grid 1 --arg 'a=randn:f16[64,576]' --arg 'q=randint(-8,8):i8[64,576]' --arg 's=randn:f16[64,9]' --arg 'o=empty:f32[64,64]' --arg K=576 --arg stride=9 --out o=%t.npy
# RUN: tilewright run %s --simulate --grid 1 --num-stages 3 --arg 'a=randn:f16[64,576]' --arg 'q=randint(-8,8):i8[64,576]' --arg 's=randn:f16[64,9]' --arg 'o=empty:f32[64,64]' --arg K=576 --arg stride=9 --check o=%t.npy --rtol 1e-3 --atol 1e-2

# CHECK: tt.load {{.*}}ttg.aligned_words{{.*}} : tensor<64x!tt.ptr<i64>
# CHECK: scf.for
# CHECK: arith.shrui {{.*}} : tensor<64xi64
# CHECK: tt.bitcast {{.*}} -> tensor<64xf{{16|32}}
# CHECK: tt.load {{.*}}ttg.aligned_words{{.*}} : tensor<64x!tt.ptr<i64>
# CHECK: scf.yield

# ROWS-NOT: ttg.aligned_words
import triton
import triton.language as tl


@triton.jit
def k(a, q, s, o, K, stride, M: tl.constexpr = 64, ROWS: tl.constexpr = False):
    m, n, k, acc = tl.arange(0, M), tl.arange(0, 64), tl.arange(0, 64), tl.zeros((M, 64), tl.float32)
    for start in range(0, K, 64):
        group = start // 64
        scale = tl.load(s + group * stride + n) if ROWS else tl.load(s + n * stride + group)
        weights = tl.load(q + n[None, :] * K + (start + k)[:, None]).to(tl.float16) * scale.to(tl.float16)[None, :]
        acc = tl.dot(tl.load(a + m[:, None] * K + (start + k)[None, :]), weights, acc)
    tl.store(o + m[:, None] * 64 + n[None, :], acc)
