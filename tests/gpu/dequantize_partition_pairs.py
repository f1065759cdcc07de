"""Both operands of a dot hold two e2m1 values to a byte, and a dequantize partition handles the second one. The values become e4m3, times 2^-6, even
and odd ones separately, and their scales times 2^6. Bytes of half of the rows are unpacked during the MMA of the other half. If the first operand has
no scales, the dequantize partition loads those of the second one in words of several iterations."""
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*u8:16,b=*u8:16,sa=*fp8e4nv:16,sb=*fp8e4nv:16,out=*fp16:16,M=i32:16,N=i32:16,width=i32:16,stride=i32:16,GROUP=16' --num-warps 8 --num-stages 4 | FileCheck %s
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ptx --signature 'a=*u8:16,b=*u8:16,sa=*fp8e4nv:16,sb=*fp8e4nv:16,out=*fp16:16,M=i32:16,N=i32:16,width=i32:16,stride=i32:16,GROUP=16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=PTX
# RUN: tilewright run %s --interpret --kernel scaled --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(0,255):u8[256x416]' --arg b='randint(0,255):u8[128x416]' --arg sa='randint(1,126):fp8e4nv[256x64]' --arg sb='randint(1,126):fp8e4nv[128x64]' --arg out=zeros:f32[256x128] --arg M=250 --arg N=120 --arg width=416 --arg stride=64 --arg GROUP=16 --out out=%t.npy
# RUN: tilewright run %s --simulate --kernel scaled --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(0,255):u8[256x416]' --arg b='randint(0,255):u8[128x416]' --arg sa='randint(1,126):fp8e4nv[256x64]' --arg sb='randint(1,126):fp8e4nv[128x64]' --arg out=zeros:f32[256x128] --arg M=250 --arg N=120 --arg width=416 --arg stride=64 --arg GROUP=16 --check out=%t.npy --rtol 1e-3 --atol 20000
# RUN: tilewright run %s --interpret --kernel scaled --grid 1 --num-warps 8 --num-stages 3 --arg a='randint(0,255):u8[256x416]' --arg b='randint(0,255):u8[128x416]' --arg sa='randint(107,117):u8[256x32]' --arg sb='randint(126,136):u8[128x32]' --arg out=zeros:f32[256x128] --arg M=250 --arg N=120 --arg width=416 --arg stride=32 --arg GROUP=32 --out out=%t.npy
# RUN: tilewright run %s --simulate --kernel scaled --grid 1 --num-warps 8 --num-stages 3 --arg a='randint(0,255):u8[256x416]' --arg b='randint(0,255):u8[128x416]' --arg sa='randint(107,117):u8[256x32]' --arg sb='randint(126,136):u8[128x32]' --arg out=zeros:f32[256x128] --arg M=250 --arg N=120 --arg width=416 --arg stride=32 --arg GROUP=32 --check out=%t.npy --rtol 1e-3 --atol 0.05
# RUN: tilewright compile %s --kernel mixed --target cuda:sm_90a --emit ttg --signature 'a=*bf16:16,b=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,width=i32:16,stride=i32:16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=MIXED

# CHECK: default {
# CHECK: scf.for
# CHECK: ttg.unpack_e2m1 {{.*}}small{{.*}} -> tensor<128x64xf16
# CHECK: ttg.mma_async {{.*}} : tensor<128x64xf16
# CHECK: ttg.unpack_e2m1 {{.*}}small{{.*}} -> tensor<128x64xf16
# CHECK: ttg.mma_async {{.*}} : tensor<128x64xf16
# CHECK: partition1() num_warps(4) {
# CHECK: scf.for
# CHECK: ttg.unpack_e2m1 {{.*}}small
# CHECK: scf.yield

# MIXED: partition1() num_warps(4) {
# MIXED: ttg.unpack_e2m1
# MIXED: tt.load {{.*}}{ttg.aligned_words, ttg.vector = 2 : i32} : tensor<128x2x!tt.ptr<i64>
# MIXED: scf.yield

# PTX-NOT: prmt.b32 {{.*}}, 1178878528
# PTX: 471604252
# PTX: wgmma.mma_async
import triton
import triton.language as tl


@triton.jit
def scaled(a, b, sa, sb, out, M, N, width, stride, GROUP: tl.constexpr):
    i, j, k, groups = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 64 // GROUP)
    rows, columns = i % M, j % N
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, width * 2, 64):
        x = tl.load(a + rows[:, None] * width + (start // 2 + k)[None, :])
        y = tl.load(b + columns[None, :] * width + (start // 2 + k)[:, None])
        x_scale = tl.load(sa + rows[:, None] * stride + (start // GROUP + groups)[None, :])
        y_scale = tl.load(sb + columns[:, None] * stride + (start // GROUP + groups)[None, :])
        total = tl.dot_scaled(x, x_scale, "e2m1", y, y_scale, "e2m1", total)
    tl.store(out + i[:, None] * N + j[None, :], total.to(out.dtype.element_ty), mask=(i < M)[:, None] & (j < N)[None, :])


@triton.jit
def mixed(a, b, sb, out, M, N, K, width, stride):
    i, j, k, half, groups = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 32), tl.arange(0, 2)
    total = tl.zeros((256, 128), tl.float32)
    a += (i % M)[:, None] * K + k[None, :]
    b += (j % N)[None, :] * width + half[:, None]
    sb += (j % N)[:, None] * stride + groups[None, :]
    for start in range(0, K, 64):
        total = tl.dot_scaled(tl.load(a), None, "bf16", tl.load(b), tl.load(sb), "e2m1", total)
        a += 64
        b += 32
        sb += 2
    tl.store(out + i[:, None] * N + j[None, :], total.to(out.dtype.element_ty), mask=(i < M)[:, None] & (j < N)[None, :])
