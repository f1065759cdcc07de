"""One row and one column after whole register blocks take the GEMV path."""
# RUN: tilewright compile %s --emit loops --target cpu:avx512 --signature '*fp32:16, *fp32:16, *fp32:16, 65, 65' | FileCheck %s
# RUN: tilewright compile %s --emit loops --target cpu:avx512 --signature '*fp32:16, *fp32:16, *fp32:16, 66, 66' | FileCheck %s --check-prefix=NONE

import triton
import triton.language as tl

# CHECK-LABEL: llvm.func internal @matmul.program
# CHECK: %[[ROWS:.*]] = arith.andi %{{.*}}, %c15_i64
# CHECK: arith.cmpi eq, %[[ROWS]], %c1_i64
# CHECK: %[[COLUMNS:.*]] = arith.andi %{{.*}}, %c15_i64
# CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[COLUMNS]], %c1_i64
# CHECK: %[[LAST:.*]] = arith.andi %[[ONE]],
# CHECK: %[[LESS:.*]] = arith.extui %[[LAST]]
# CHECK: %[[FEWER:.*]] = arith.subi %{{.*}}, %[[LESS]]
# CHECK: scf.if %[[LAST]]

# NONE-LABEL: llvm.func internal @matmul.program
# NONE-NOT: arith.extui %{{.*}} : i1 to i64
# NONE: llvm.return


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N):
    i, j, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    a = tl.load(a_ptr + i[:, None] * 64 + k[None, :], mask=i[:, None] < M, other=0.0)
    b = tl.load(b_ptr + k[:, None] * N + j[None, :], mask=j[None, :] < N, other=0.0)
    tl.store(c_ptr + i[:, None] * N + j[None, :], tl.dot(a, b), mask=(i[:, None] < M) & (j[None, :] < N))
