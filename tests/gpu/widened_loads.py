"""Each iteration dequantizes with one scale of 16 or 32 bits for each column. A thread loads a word of eight bytes, which holds the scales of
several iterations, before a dot by wgmma and before one by mma.sync. Where another iteration's scale is in another row, it loads each scale.
Where each element of a tile has its own scale, a thread has registers for words of four bytes only."""
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp16:16,o=*fp32:16,K=i32:16,stride=i32:16' --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp32:16,o=*fp32:16,K=i32:16,stride=i32:16' --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp16:16,o=*fp32:16,K=i32:16,stride=i32:16,M=16' --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp16:16,o=*fp32:16,K=i32:16,stride=i32:16,ROWS=True' --num-stages 3 | FileCheck %s --check-prefix=NARROW
# RUN: tilewright run %s --kernel k --interpret --grid 1 --arg 'a=randn:f16[64,576]' --arg 'q=randint(-8,8):i8[64,576]' --arg 's=randn:f16[64,9]' --arg 'o=empty:f32[64,64]' --arg K=576 --arg stride=9 --out o=%t.npy
# RUN: tilewright run %s --kernel k --simulate --grid 1 --num-stages 3 --arg 'a=randn:f16[64,576]' --arg 'q=randint(-8,8):i8[64,576]' --arg 's=randn:f16[64,9]' --arg 'o=empty:f32[64,64]' --arg K=576 --arg stride=9 --check o=%t.npy --rtol 1e-3 --atol 1e-2
# RUN: tilewright compile %s --kernel each --target cuda:sm_90a --until copy-unpipelined --signature 'a=*fp16:16,q=*i8:16,s=*fp16:16,o=*fp32:16,K=i32:16,stride=i32:16' --num-stages 3 | FileCheck %s --check-prefix=EACH
# RUN: tilewright run %s --kernel each --interpret --grid 1 --arg 'a=randn:f16[128,160]' --arg 'q=randint(-8,8):i8[128,160]' --arg 's=randn:f16[4096,16]' --arg 'o=empty:f32[128,128]' --arg K=160 --arg stride=16 --out o=%t2.npy
# RUN: tilewright run %s --kernel each --simulate --grid 1 --num-stages 3 --arg 'a=randn:f16[128,160]' --arg 'q=randint(-8,8):i8[128,160]' --arg 's=randn:f16[4096,16]' --arg 'o=empty:f32[128,128]' --arg K=160 --arg stride=16 --check o=%t2.npy --rtol 1e-3 --atol 1e-2

# CHECK: tt.load {{.*}}ttg.aligned_words{{.*}} : tensor<64x!tt.ptr<i64>
# CHECK: scf.for
# CHECK: arith.shrui {{.*}} : tensor<64xi64
# CHECK: tt.bitcast {{.*}} -> tensor<64xf{{16|32}}
# CHECK: tt.load {{.*}}ttg.aligned_words{{.*}} : tensor<64x!tt.ptr<i64>
# CHECK: scf.yield

# NARROW-NOT: ttg.aligned_words

# EACH: tt.load {{.*}}ttg.aligned_words{{.*}} : tensor<{{32x128|128x32}}x!tt.ptr<i32>
# EACH: scf.for
# EACH: arith.shrui {{.*}} : tensor<{{32x128|128x32}}xi32
# EACH: scf.yield
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


@triton.jit
def each(a, q, s, o, K, stride):
    m, k, acc = tl.arange(0, 128), tl.arange(0, 32), tl.zeros((128, 128), tl.float32)
    for start in range(0, K, 32):
        scale = tl.load(s + (m[None, :] * 32 + k[:, None]) * stride + start // 32)
        weights = tl.load(q + m[None, :] * K + (start + k)[:, None]).to(tl.float16) * scale
        acc = tl.dot(tl.load(a + m[:, None] * K + (start + k)[None, :]), weights, acc)
    tl.store(o + m[:, None] * 128 + m[None, :], acc)
