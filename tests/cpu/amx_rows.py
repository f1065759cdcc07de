"""AMX dots that read A from memory check only the blocks of 32 rows that the mask leaves."""
# RUN: tilewright compile %s --emit loops --target cpu:amx --signature '*bf16:16, *bf16:16, *fp32:16, i32, i64:16' | FileCheck %s

import triton
import triton.language as tl


# CHECK-LABEL: llvm.func internal @matmul.program
# CHECK: %[[MORE:.*]] = arith.addi %{{.*}}, %c31_i64
# CHECK: %[[ROWS:.*]] = arith.andi %[[MORE]], %c-32_i64
# CHECK: arith.minsi %[[ROWS]], %c64_i64
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, rows, stride):
    i = tl.arange(0, 64)
    inside = i[:, None] < rows
    a = tl.load(a_ptr + i[:, None] * stride + i[None, :], mask=inside, other=0.0)
    b = tl.load(b_ptr + i[:, None] * 64 + i[None, :])
    tl.store(c_ptr + i[:, None] * stride + i[None, :], tl.dot(a, b), mask=inside)
