# max_num_imprecise_acc: after this many elements of K, threads add the tensor cores' sum to one in fp32.
# RUN: tilewright compile %s --kernel k --signature '*fp8e5, *fp8e5, *fp32, 64' --target cuda:sm_90a --emit ptx | FileCheck %s
# RUN: tilewright compile %s --kernel k --signature '*fp8e5, *fp8e5, *fp32, None' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=REST
# RUN: tilewright compile %s --kernel wide --signature '*fp8e5, *fp8e5, *fp32' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=WIDE
# RUN: tilewright compile %s --kernel in_a_loop --signature '*fp8e5:16, *fp8e5:16, *fp32:16, i32:16' --num-warps 8 --num-stages 4 --target cuda:sm_90a --until specialize-warps | FileCheck %s --check-prefix=LOOP
import triton
import triton.language as tl


# CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n64k32.f32.e5m2.e5m2
# CHECK: wgmma.wait_group.sync.aligned 0
# CHECK: add{{.*}}.f32
# CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n64k32.f32.e5m2.e5m2
# CHECK: wgmma.wait_group.sync.aligned 0
# CHECK: add{{.*}}.f32
# REST-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k32.f32.e5m2.e5m2
# REST-NOT: add{{.*}}.f32
@triton.jit
def k(a, b, c, EVERY: tl.constexpr):
    m, depth = tl.arange(0, 64), tl.arange(0, 128)
    x = tl.load(a + m[:, None] * 128 + depth[None, :])
    y = tl.load(b + m[None, :] * 128 + depth[:, None])
    z = tl.load(c + m[:, None] * 64 + m[None, :])
    tl.store(c + m[:, None] * 64 + m[None, :], tl.dot(x, y, z, max_num_imprecise_acc=EVERY))


# 256 columns are promoted in two parts: together with the fp32 sums they would take 256 registers of a thread.
# WIDE-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k32.f32.e5m2.e5m2
# WIDE: wgmma.wait_group.sync.aligned 0
# WIDE-COUNT-64: add{{.*}}.f32
# WIDE-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k32.f32.e5m2.e5m2
# WIDE: wgmma.wait_group.sync.aligned 0
# WIDE-COUNT-64: add{{.*}}.f32
@triton.jit
def wide(a, b, c):
    m, n, depth = tl.arange(0, 64), tl.arange(0, 256), tl.arange(0, 128)
    x = tl.load(a + m[:, None] * 128 + depth[None, :])
    y = tl.load(b + n[None, :] * 128 + depth[:, None])
    z = tl.load(c + m[:, None] * 256 + n[None, :])
    tl.store(c + m[:, None] * 256 + n[None, :], tl.dot(x, y, z, max_num_imprecise_acc=128))


# One warp group promotes while the other one runs its MMAs: a producer warp starts the copies, so they need not synchronize. No part is in flight
# when a warp releases the stage.
# LOOP: default {
# LOOP: scf.for
# LOOP: ttg.barrier_wait
# LOOP: %[[SUM:.*]] = ttg.mma_async {{.*}}promotionInterval = 128
# LOOP-NEXT: ttg.mma_async_wait 0, %[[SUM]]
# LOOP: ttg.barrier_arrive
# LOOP: scf.yield
@triton.jit
def in_a_loop(a, b, c, k):
    m, n, depth = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 128)
    acc = tl.zeros((128, 256), tl.float32)
    for start in range(0, k, 128):
        x = tl.load(a + m[:, None] * k + (start + depth)[None, :])
        y = tl.load(b + n[None, :] * k + (start + depth)[:, None])
        acc = tl.dot(x, y, acc, max_num_imprecise_acc=128)
    tl.store(c + m[:, None] * 256 + n[None, :], acc)
