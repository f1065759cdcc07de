# Small tiles that threads read are copied by threads, because stages that TMA refills need a fence in every iteration.
# RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 32, 32, 32' --num-stages 3 --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=SMALL
# RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 32, 64, 64' --num-stages 3 --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=SMALL
# RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 32, 128, 64' --num-stages 3 --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=LARGE
# RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 64, 32, 32' --num-stages 3 --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=WGMMA
# RUN: tilewright explain %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, 32, 32, 32' --target cuda:sm_90a | FileCheck %s --check-prefix=WHY
import triton
import triton.language as tl


# SMALL-NOT: fence.proxy.async
# SMALL: cp.async.cg.shared
# SMALL-NOT: cp.async.bulk
# SMALL-NOT: fence.proxy.async
# LARGE: cp.async.bulk.tensor
# LARGE: ldmatrix
# LARGE: fence.proxy.async
# LARGE: cp.async.bulk.tensor
# WGMMA: cp.async.bulk.tensor
# WGMMA: wgmma.mma_async
# WHY: no tensor map: the tiles of an iteration are small and are read by threads
@triton.jit
def k(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        x = tl.load(a + m[:, None] * depth + (start + d)[None, :])
        y = tl.load(b + (start + d)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))
