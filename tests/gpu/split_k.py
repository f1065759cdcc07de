"""There are too few rows for a wgmma in each CTA: the CTAs compute parts of K, and add their sums after the loop."""
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --num-ctas 2 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,M=64,K=128' | FileCheck %s --check-prefix=EXPLAIN
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-ctas 4 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,M=64,K=256' | FileCheck %s
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-ctas 2 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,M=128,K=128' | FileCheck %s --check-prefix=ROWS
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-ctas 2 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,M=64,K=32' | FileCheck %s --check-prefix=COLUMNS
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --num-ctas 4 --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,M=64,K=256' | FileCheck %s --check-prefix=MEET
# RUN: tilewright compile %s --kernel seen --target cuda:sm_90a --num-ctas 2 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16' | FileCheck %s --check-prefix=SEEN
# RUN: tilewright compile %s --kernel exact --target cuda:sm_90a --num-ctas 2 --emit ttg --signature '*fp8e4nv:16,*fp8e4nv:16,*fp32:16,i32:16,EVERY=128' | FileCheck %s --check-prefix=EXACT
# RUN: tilewright compile %s --kernel exact --target cuda:sm_90a --num-ctas 2 --emit ttg --signature '*fp8e4nv:16,*fp8e4nv:16,*fp32:16,i32:16,EVERY=None' | FileCheck %s --check-prefix=FAST

import triton
import triton.language as tl


# EXPLAIN: wgmma m64n64k16, A and B in shared memory; each CTA computes a part of K,
# EXPLAIN: 64x64 f16 from a by TMA
# EXPLAIN: along dimension 1
# EXPLAIN: 64x64 f16 from b by TMA
# EXPLAIN: along dimension 0
# Four CTAs add their parts in two exchanges of a half each; each CTA stores a quarter.
# CHECK: scf.for
# CHECK: ttg.mma_async {{.*}} -> tensor<64x64xf32
# CHECK: scf.yield
# CHECK: ttg.read_cluster {{.*}} peer 2 {{.*}}: tensor<64x32xf32
# CHECK-NEXT: arith.addf
# CHECK: ttg.read_cluster {{.*}} peer 1 {{.*}}: tensor<64x16xf32
# CHECK-NEXT: ttg.cluster_arrive
# CHECK-NEXT: arith.addf
# CHECK: ttg.tma_store {{.*}} : <1 x f16, #ttg.shared<64x16
# CHECK: ttg.cluster_wait
# The CTAs synchronize once for each exchange, because each has a separate buffer, and at the end, after all reads.
# MEET-COUNT-3: barrier.cluster.arrive
# MEET-NOT: barrier.cluster.arrive
# With enough rows, the CTAs split the rows. With too small a K, they split the columns.
# ROWS-NOT: read_cluster
# ROWS: ttg.mma_async {{.*}} -> tensor<64x64xf32
# ROWS-NOT: read_cluster
# COLUMNS-NOT: read_cluster
# COLUMNS: ttg.mma_async {{.*}} -> tensor<64x32xf32
# COLUMNS-NOT: read_cluster
@triton.jit
def product(a, b, c, k, M: tl.constexpr, K: tl.constexpr):
    m, n, i = tl.arange(0, M), tl.arange(0, 64), tl.arange(0, K)
    acc = tl.zeros((M, 64), tl.float32)
    for start in range(0, k, K):
        x = tl.load(a + m[:, None] * k + start + i[None, :])
        y = tl.load(b + (start + i)[:, None] * 64 + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * 64 + n[None, :], acc.to(tl.float16))


# An iteration uses the accumulator, and needs all of it.
# SEEN-NOT: ttg.read_cluster {{.*}} peer
# SEEN: tt.dot {{.*}} -> tensor<32x64xf32
# SEEN-NOT: ttg.read_cluster {{.*}} peer
@triton.jit
def seen(a, b, c, k):
    m, n, i = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 128)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 128):
        x = tl.load(a + m[:, None] * k + start + i[None, :])
        y = tl.load(b + (start + i)[:, None] * 64 + n[None, :])
        acc = tl.maximum(tl.dot(x, y, acc), 0.0)
    tl.store(c + m[:, None] * 64 + n[None, :], acc.to(tl.float16))


# An fp8 accumulator that threads promote every 128 elements of K is not split.
# EXACT-NOT: ttg.read_cluster {{.*}} peer
# EXACT: ttg.mma_async {{.*}}promotionInterval = 128
# EXACT-NOT: ttg.read_cluster {{.*}} peer
# FAST: ttg.read_cluster {{.*}} peer
@triton.jit
def exact(a, b, c, k, EVERY: tl.constexpr):
    m, n, i = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 128)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 128):
        x = tl.load(a + m[:, None] * k + start + i[None, :])
        y = tl.load(b + n[None, :] * k + (start + i)[:, None])
        acc = tl.dot(x, y, acc, max_num_imprecise_acc=EVERY)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)
