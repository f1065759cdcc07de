"""A persistent loop whose mxfp8 or mxfp4 dots run in fp16 carries the largest exponents through all tiles. If fp16 could not hold all values times
their scales, the persistent loop runs again in bf16 afterwards, and overwrites each tile. If it may load its own stores, or a dot decides what is
stored, each tile's inner loop is repeated instead."""
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until expand-scaled-dots-for-gpus --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BACK=0' --num-warps 8 --num-stages 4 | FileCheck %s
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BACK=0' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=ROLES
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ptx --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BACK=0' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until expand-scaled-dots-for-gpus --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BACK=1' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=EACH
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --until expand-scaled-dots-for-gpus --signature 'a=*fp8e4nv:16,b=*fp8e4nv:16,sa=*u8:16,sb=*u8:16,out=*fp16:16,M=i32:16,N=i32:16,K=i32:16,stride=i32:16,BACK=2' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=EACH
# RUN: tilewright run %s --interpret --kernel scaled --grid 2 --num-warps 8 --num-stages 4 --arg a='randint(-3,4):fp8e4nv[768x256]' --arg b='randint(-3,4):fp8e4nv[128x256]' --arg sa='randint(118,128):u8[768x8]' --arg sb='randint(120,128):u8[128x8]' --arg out=zeros:f16[768x128] --arg M=768 --arg N=128 --arg K=256 --arg stride=8 --arg BACK=0 --out out=%t.npy
# RUN: tilewright run %s --simulate --kernel scaled --grid 2 --num-warps 8 --num-stages 4 --arg a='randint(-3,4):fp8e4nv[768x256]' --arg b='randint(-3,4):fp8e4nv[128x256]' --arg sa='randint(118,128):u8[768x8]' --arg sb='randint(120,128):u8[128x8]' --arg out=zeros:f16[768x128] --arg M=768 --arg N=128 --arg K=256 --arg stride=8 --arg BACK=0 --check out=%t.npy --rtol 1e-3 --atol 1e-2
# RUN: tilewright run %s --interpret --kernel scaled --grid 2 --num-warps 8 --num-stages 4 --arg a='randint(-3,4):fp8e4nv[768x256]' --arg b='randint(-3,4):fp8e4nv[128x256]' --arg sa='randint(106,128):u8[768x8]' --arg sb='randint(120,128):u8[128x8]' --arg out=zeros:f16[768x128] --arg M=768 --arg N=128 --arg K=256 --arg stride=8 --arg BACK=0 --out out=%t.npy
# RUN: tilewright run %s --simulate --kernel scaled --grid 2 --num-warps 8 --num-stages 4 --arg a='randint(-3,4):fp8e4nv[768x256]' --arg b='randint(-3,4):fp8e4nv[128x256]' --arg sa='randint(106,128):u8[768x8]' --arg sb='randint(120,128):u8[128x8]' --arg out=zeros:f16[768x128] --arg M=768 --arg N=128 --arg K=256 --arg stride=8 --arg BACK=0 --check out=%t.npy --rtol 1e-3 --atol 1e-2

# CHECK: %[[largest:.*]]:2 = scf.for {{.*}} iter_args(%[[left:.*]] = %{{.*}}, %[[right:.*]] = %
# CHECK: scf.for {{.*}} %[[left]]{{.*}} %[[right]]
# CHECK: tt.dot {{.*}}xf16>
# CHECK: tt.store
# CHECK-NOT: tt.overwrites
# CHECK: scf.yield
# CHECK: arith.cmpi ugt, %[[largest]]#0
# CHECK: arith.cmpi ugt, %[[largest]]#1
# CHECK: scf.if
# CHECK: scf.for
# CHECK: scf.for
# CHECK: tt.dot {{.*}}xbf16>
# CHECK: tt.store {{.*}}tt.overwrites

# Four stages of 40.5 KB next to the tile that is stored; the partition that loads the scales compares the largest exponents after all tiles.
# ROLES: default {
# ROLES: ttg.tma_store
# ROLES: scf.if
# ROLES: ttg.tma_store_wait 0 {untilWritten}
# ROLES-NEXT: ttg.cta_barrier
# ROLES: tt.store
# ROLES: partition1() num_warps(4) {
# ROLES: ttg.alloc {{.*}} : <4 x i8, {{.*}}256x2
# ROLES: scf.for
# ROLES: scf.for
# ROLES: arith.cmpi ugt
# ROLES: ttg.barrier_arrive

# PTX: cp.async.bulk.wait_group 0

# EACH-NOT: tt.overwrites
# EACH: scf.for
# EACH: scf.for
# EACH: tt.dot {{.*}}xf16>
# EACH: scf.if
# EACH: tt.dot {{.*}}xbf16>
# EACH: tt.store
import triton
import triton.language as tl


@triton.jit
def scaled(a, b, sa, sb, out, M, N, K, stride, BACK: tl.constexpr):
    i, j, k, groups = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 2)
    for tile in range(tl.program_id(0), tl.cdiv(M, 256) * tl.cdiv(N, 128), tl.num_programs(0)):
        rows, columns = tile // tl.cdiv(N, 128) * 256 + i, tile % tl.cdiv(N, 128) * 128 + j
        total = tl.zeros((256, 128), tl.float32)
        for start in range(0, K, 64):
            x = tl.load(a + rows[:, None] * K + (start + k)[None, :])
            y = tl.load(b + columns[None, :] * K + (start + k)[:, None])
            x_scale = tl.load(sa + rows[:, None] * stride + (start // 32 + groups)[None, :])
            y_scale = tl.load(sb + columns[:, None] * stride + (start // 32 + groups)[None, :])
            total = tl.dot_scaled(x, x_scale, "e4m3", y, y_scale, "e4m3", total)
        at = out + rows[:, None] * N + columns[None, :]
        if BACK == 2:
            tl.store(at, total.to(out.dtype.element_ty), mask=total > 0)
        else:
            tl.store(at, total.to(out.dtype.element_ty))
        if BACK == 1:
            tl.store(sb + columns * stride, tl.full((128,), 127, tl.uint8))
