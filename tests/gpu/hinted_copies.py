"""Loads with an eviction priority become asynchronous copies. cp.async gets no priority, because ptxas encodes the combination wrongly."""
# RUN: tilewright compile %s --target cuda:sm_90a --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:2' | FileCheck %s

import triton
import triton.language as tl

# CHECK-NOT: cp.async.c{{.*}}cache_hint
# CHECK: cp.async.ca.shared.global [
# CHECK-NOT: cp.async.c{{.*}}cache_hint
# CHECK: cp.async.bulk.tensor.2d{{.*}}cache_hint
# CHECK-NOT: cp.async.c{{.*}}cache_hint


@triton.jit
def product(a, b, c, k):
    rows, columns, ks = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 32):
        inside = start + ks < k
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :], mask=inside[None, :], other=0.0, eviction_policy="evict_first")
        y = tl.load(b + (start + ks)[:, None] * 64 + columns[None, :], mask=inside[:, None], other=0.0, eviction_policy="evict_last")
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * 64 + columns[None, :], total)
