"""A loop that only accumulates an mxfp8 or mxfp4 dot runs in fp16, and records the largest and smallest scales. If fp16 could not hold all values
times their scales, the loop runs again in bf16."""
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until expand-scaled-dots-for-gpus --signature 'a=*u8:16,b=*u8:16,sa=*u8:16,sb=*u8:16,out=*fp32:16,K=i32:16,stride=i32:16,A="e4m3",STORES=False' --num-warps 8 | FileCheck %s
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ptx --signature 'a=*u8:16,b=*u8:16,sa=*u8:16,sb=*u8:16,out=*fp32:16,K=i32:16,stride=i32:16,A="e4m3",STORES=False' --num-warps 8 | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until expand-scaled-dots-for-gpus --signature 'a=*u8:16,b=*u8:16,sa=*u8:16,sb=*u8:16,out=*fp32:16,K=i32:16,stride=i32:16,A="e5m2",STORES=False' --num-warps 8 | FileCheck %s --check-prefix=ONCE
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until expand-scaled-dots-for-gpus --signature 'a=*u8:16,b=*u8:16,sa=*u8:16,sb=*u8:16,out=*fp32:16,K=i32:16,stride=i32:16,A="e4m3",STORES=True' --num-warps 8 | FileCheck %s --check-prefix=ONCE
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until expand-scaled-dots-for-gpus --signature 'a=*u8:16,b=*u8:16,sa=*u8:16,sb=*u8:16,out=*fp32:16,K=i32:16,stride=i32:16,A="e4m3",STORES=False,CACHE=".cv"' --num-warps 8 | FileCheck %s --check-prefix=ONCE
# RUN: tilewright run %s --simulate --kernel scaled --grid 1 --num-warps 8 --arg a='randint(0,120):u8[64x128]' --arg b='randint(0,120):u8[64x128]' --arg sa='randint(90,160):u8[64x4]' --arg sb='randint(120,130):u8[64x4]' --arg out=zeros:f32[64x64] --arg K=128 --arg stride=4 --arg A="'e4m3'" --arg STORES=False

# CHECK: %[[fast:.*]]:3 = scf.for
# CHECK: tt.dot {{.*}}xf16>
# CHECK: arith.maxui
# CHECK: arith.maxui
# CHECK: scf.yield
# CHECK-COUNT-2: tt.reduce
# CHECK: arith.ori
# CHECK: scf.if
# CHECK: scf.for
# CHECK: tt.dot {{.*}}xbf16>
# CHECK: } else {
# CHECK-NEXT: scf.yield %[[fast]]#0

# PTX: wgmma.mma_async.sync.aligned.{{.*}}.f32.f16.f16
# PTX: wgmma.mma_async.sync.aligned.{{.*}}.f32.bf16.bf16

# e5m2 exceeds the range of fp16 with most scales; and a loop that stores, or loads memory that may change, must not run twice.
# ONCE-NOT: scf.if
# ONCE-COUNT-1: tt.dot {{.*}}xbf16>
# ONCE-NOT: tt.dot
# ONCE-NOT: scf.if
import triton
import triton.language as tl


@triton.jit
def scaled(a, b, sa, sb, out, K, stride, A: tl.constexpr, STORES: tl.constexpr, CACHE: tl.constexpr = ""):
    i, k, groups = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 2)
    at = out + i[:, None] * 64 + i[None, :]
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :], cache_modifier=CACHE)
        y = tl.load(b + i[None, :] * K + (start + k)[:, None])
        x_scale = tl.load(sa + i[:, None] * stride + (start // 32 + groups)[None, :])
        y_scale = tl.load(sb + i[:, None] * stride + (start // 32 + groups)[None, :])
        total = tl.dot_scaled(x, x_scale, A, y, y_scale, "e4m3", total)
        if STORES:
            tl.store(at, total)
    tl.store(at, total)
