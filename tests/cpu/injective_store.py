"""A tile is added to in place only if no two of its elements share an address. Which of two runtime strides is larger is unknown."""
# RUN: tilewright compile %s --emit loops --target cpu:avx2 --signature '*fp32:16, i64, i64' | FileCheck %s

import triton
import triton.language as tl


# CHECK-LABEL: llvm.func internal @increment.program
# CHECK: %[[S0:.*]] = arith.maxsi
# CHECK: %[[S1:.*]] = arith.maxsi
# CHECK: arith.cmpi sge, %[[S0]], %c4_i64
# CHECK: %[[LARGE:.*]] = arith.cmpi sge, %[[S1]],
# CHECK: %[[FIRST:.*]] = arith.andi %{{.*}}, %[[LARGE]]
# CHECK: arith.cmpi sge, %[[S1]], %c4_i64
# CHECK: %[[OTHER:.*]] = arith.cmpi sge, %[[S0]],
# CHECK: %[[SECOND:.*]] = arith.andi %{{.*}}, %[[OTHER]]
# CHECK: arith.ori %[[FIRST]], %[[SECOND]]
@triton.jit
def increment(x_ptr, s0, s1):
    i = tl.arange(0, 64)
    at = i[:, None] * s0 + i[None, :] * s1
    tl.store(x_ptr + at, tl.load(x_ptr + at) + 1)
