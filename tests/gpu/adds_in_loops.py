"""Additions by TMA: an atomic addition of a dot's result, with unused old values and relaxed order. In a loop TMA adds while the next iteration
runs."""
# RUN: tilewright compile %s --kernel gradients --num-warps 8 --num-stages 2 --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,"relaxed"' | FileCheck %s
# RUN: tilewright compile %s --kernel gradients --num-warps 8 --num-stages 2 --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,"relaxed"' | FileCheck %s --check-prefix=PTX
# RUN: tilewright explain %s --kernel gradients --num-warps 8 --num-stages 2 --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,"relaxed"' | FileCheck %s --check-prefix=EXPLAIN
# RUN: tilewright compile %s --kernel gradients --num-warps 8 --num-stages 2 --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,"acq_rel"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright explain %s --kernel gradients --num-warps 8 --num-stages 2 --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,i32:16,"acq_rel"' | FileCheck %s --check-prefix=ORDERS
# RUN: tilewright compile %s --kernel descriptor --num-warps 4 --num-stages 2 --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16' | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel reads --num-warps 4 --num-stages 2 --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright explain %s --kernel reads --num-warps 4 --num-stages 2 --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp32:16,i32:16' | FileCheck %s --check-prefix=READS

import triton
import triton.language as tl


# Two CTA barriers in each iteration: the weights are written, and the stored result is written. The previous TMA store has read its buffer before the
# first one, and the readers of the weights are done after the second one. The MMA that accumulates in registers stays in flight across the back edge,
# and the one that is added to `v` until the wait for the stored result.
# CHECK: default {
# CHECK: scf.for
# CHECK: %[[s:.*]] = ttg.mma_async
# CHECK-NOT: ttg.cta_barrier
# CHECK: ttg.mma_async_wait 0, %[[s]], %
# CHECK-NOT: ttg.cta_barrier
# CHECK: %[[v:.*]] = ttg.mma_async
# CHECK-NOT: ttg.cta_barrier
# CHECK: ttg.store_shared
# CHECK-NEXT: ttg.fence_async
# CHECK-NEXT: ttg.tma_store_wait 0
# CHECK-NEXT: ttg.cta_barrier
# CHECK: %[[out:.*]] = ttg.mma_async
# CHECK-NEXT: %{{.*}} = ttg.mma_async
# CHECK-NEXT: %[[left:.*]]:2 = ttg.mma_async_wait 1, %[[out]], %[[v]]
# CHECK-NEXT: %[[zero:.*]] = ttg.loop_variant_zero
# CHECK-NEXT: ttg.store_shared %[[left]]#0, {{.*}} plus %[[zero]]
# CHECK-NEXT: ttg.fence_async
# CHECK-NEXT: ttg.cta_barrier
# CHECK-NEXT: ttg.tma_store reduce add
# CHECK-NOT: ttg.cta_barrier
# CHECK: scf.yield
# TMA has read the last store's buffer before its bytes are reused.
# CHECK: ttg.tma_store_wait 0
# PTX: cp.reduce.async.bulk.tensor.{{.*}}.add.tile.bulk_group
# PTX-NOT: red.global
# EXPLAIN: 64x128 f32 added to sum_ptr by TMA
# Threads perform an addition that orders other accesses.
# ORDERS: no tensor map: it orders other accesses; sem="relaxed" does not
# THREADS-NOT: cp.reduce
# THREADS: atom.global{{.*}}.add.{{.*}}f32
# THREADS-NOT: cp.reduce
@triton.jit
def gradients(q_ptr, k_ptr, out_ptr, sum_ptr, n, SEM: tl.constexpr):
    keys, queries, columns = tl.arange(0, 128), tl.arange(0, 64), tl.arange(0, 128)
    k = tl.load(k_ptr + keys[:, None] * 128 + columns[None, :])
    first = tl.zeros((128, 128), dtype=tl.float32)
    second = tl.zeros((128, 128), dtype=tl.float32)
    for start in range(0, n, 64):
        rows = start + queries
        q = tl.load(q_ptr + rows[:, None] * 128 + columns[None, :], mask=rows[:, None] < n, other=0.0)
        scores = tl.dot(k, q.T)
        weights = tl.exp2(scores)
        first = tl.dot(weights.to(tl.float16), q, first)
        weights = (weights * scores).to(tl.float16)
        out = tl.dot(weights.T, k)
        second = tl.dot(weights, q, second)
        tl.atomic_add(sum_ptr + rows[:, None] * 128 + columns[None, :], out, mask=rows[:, None] < n, sem=SEM)
    out_ptrs = out_ptr + keys[:, None] * 128 + columns[None, :]
    tl.store(out_ptrs, (first + second).to(tl.float16))


@triton.jit
def product(a_ptr, b_ptr, K):
    acc = tl.zeros((64, 64), dtype=tl.float32)
    a_desc = tl.make_tensor_descriptor(a_ptr, [64, K], [K, 1], [64, 64])
    b_desc = tl.make_tensor_descriptor(b_ptr, [64, K], [K, 1], [64, 64])
    for start in range(0, K, 64):
        acc = tl.dot(a_desc.load([0, start]), b_desc.load([0, start]).T, acc)
    return acc


@triton.jit
def descriptor(a_ptr, b_ptr, out_ptr, K):
    out_desc = tl.make_tensor_descriptor(out_ptr, [64, 64], [64, 1], [64, 64])
    out_desc.atomic_add([0, 0], product(a_ptr, b_ptr, K))


# TMA additions are not ordered with the threads' own accesses.
# READS: the kernel also reads out_ptr
@triton.jit
def reads(a_ptr, b_ptr, out_ptr, K):
    out_ptrs = out_ptr + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    before = tl.load(out_ptrs)
    tl.atomic_add(out_ptrs, product(a_ptr, b_ptr, K) - before, sem="relaxed")
