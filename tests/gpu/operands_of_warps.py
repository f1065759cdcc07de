"""Operands of mma.sync. A thread waits for both before it reads the first one, and its reads share address registers.

RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16' --num-warps 8 --num-stages 3 --target cuda:sm_120a --emit threads | FileCheck %s

CHECK: scf.for
CHECK-COUNT-2: ptx.mbarrier_wait
CHECK-NOT: ptx.mbarrier_wait
Bits of an offset that no lane and no warp sets are added. Four addresses of A, with K of 16 each, are those of all rows.
CHECK: %[[FIRST:.*]] = arith.addi %[[BASE:.*]], %{{.*}} : i32
CHECK-NEXT: ptx.ldmatrix %[[FIRST]]
CHECK-COUNT-3: ptx.ldmatrix
CHECK: %[[ROWS:.*]] = arith.addi %[[FIRST]], %c{{[0-9]+}}_i32
CHECK-NEXT: ptx.ldmatrix %[[ROWS]]
CHECK-NOT: ptx.mbarrier_wait
CHECK: ptx.mma
"""

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, m, n, depth):
    rows, columns, k = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 64)
    acc = tl.zeros((128, 256), tl.float32)
    for start in range(0, depth, 64):
        x = tl.load(a + rows[:, None] * depth + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * n + columns[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rows[:, None] * n + columns[None, :], acc.to(tl.float16))
