"""A loop that reads two scales of each row in an iteration loads a word of eight bytes of scales every fourth iteration. The first half of the
dequantized values is stored before the rest is computed."""
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*u8:16,s=*u8:16,b=*bf16:16,out=*fp32:16,K=i32:16,stride=i32:16' --num-warps 8 --num-stages 3 | FileCheck %s
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit threads --signature 'a=*u8:16,s=*u8:16,b=*bf16:16,out=*fp32:16,K=i32:16,stride=i32:16' --num-warps 8 --num-stages 3 | FileCheck %s --check-prefix=THREADS
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*u8:16,s=*u8:16,b=*bf16:16,out=*fp32:16,K=i32:16,stride=i32' --num-warps 8 --num-stages 3 | FileCheck %s --check-prefix=ANYWHERE
# RUN: tilewright run %s --simulate --kernel scaled --grid 1 --num-warps 8 --num-stages 3 --arg a=zeros:u8[256x512] --arg s=arange:u8[256x16] --arg b=zeros:bf16[128x512] --arg out=zeros:f32[256x128] --arg K=512 --arg stride=16
# RUN: tilewright run %s --simulate --kernel scaled --grid 1 --num-warps 8 --num-stages 3 --arg a=zeros:u8[256x320] --arg s=arange:u8[256x10] --arg b=zeros:bf16[128x320] --arg out=zeros:f32[256x128] --arg K=320 --arg stride=10

# Rows begin at a word, so the position of the scales in a word is the same in all rows.
# CHECK-NOT: tt.ptr_to_int
# CHECK: tt.load {{.*}}{ttg.aligned_words} : tensor<256x2x!tt.ptr<i64>
# CHECK: scf.for
# CHECK: arith.shrui {{.*}} : tensor<256x2xi64
# CHECK: tt.load {{.*}}, {{.*}}, {{.*}} {ttg.aligned_words} : tensor<256x2x!tt.ptr<i64>
# CHECK: ptx.warp_barrier
# CHECK-NOT: tt.load
# CHECK: ttg.fence_async {interleavedStores}
# CHECK: scf.yield

# THREADS: scf.for
# THREADS: ptx.load_shared
# THREADS: ptx.store_shared
# THREADS: ptx.warp_barrier
# THREADS: ptx.store_shared
# THREADS: ptx.fence_async

# ANYWHERE: tt.ptr_to_int
# ANYWHERE: tt.load {{.*}}{ttg.aligned_words} : tensor<256x2x!tt.ptr<i64>
import triton
import triton.language as tl


@triton.jit
def scaled(a, s, b, out, K, stride):
    i, j, k, groups = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 2)
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + j[None, :] * K + (start + k)[:, None])
        scale = tl.load(s + i[:, None] * stride + (start // 32 + groups)[None, :])
        total = tl.dot_scaled(x, scale, "e4m3", y, None, "bf16", total)
    tl.store(out + i[:, None] * 128 + j[None, :], total)
