"""A loop advances by a quotient that it computes after the loads. Their coordinates need its value earlier, so they compute it from its operands.

RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp32:16, i32, i32:16, i32:16, i32:16' --target cuda:sm_90a --num-warps 4 --num-stages 3 --until form-descriptors | FileCheck %s
CHECK: scf.for
CHECK: %[[step:.*]] = arith.divsi %[[length:.*]], %[[parts:.*]] : i32
CHECK: ttg.descriptor_load
CHECK: ttg.descriptor_load
CHECK: arith.divsi %[[length]], %[[parts]] : i32
"""

import triton
import triton.language as tl


@triton.jit
def steps(a_ptr, b_ptr, out_ptr, n, k, length, parts):
    rows, columns, depth = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    start = 0
    for i in range(0, n):
        at = start + depth
        a = tl.load(a_ptr + rows[:, None] * 4096 + at[None, :], mask=at[None, :] < k, other=0.0)
        b = tl.load(b_ptr + at[:, None] * 64 + columns[None, :], mask=at[:, None] < k, other=0.0)
        acc = tl.dot(a, b, acc)
        start += length // parts
    tl.store(out_ptr + rows[:, None] * 64 + columns[None, :], acc)
