"""A dot by mma.sync that only the next iteration needs runs when two tiles in f32 are dead, if threads do not hold whole operands.

RUN: tilewright compile %s --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp16:16, i32:16' --target cuda:sm_120a --num-warps 4 --num-stages 2 --until delay-dots | FileCheck %s
CHECK: scf.for
CHECK: math.exp2
CHECK-NOT: tt.dot
CHECK: arith.subf
CHECK-NEXT: arith.mulf
CHECK-NEXT: arith.truncf
CHECK-NEXT: ttg.load_shared
CHECK-NEXT: tt.dot
CHECK: ttg.load_shared
CHECK-NEXT: tt.dot
CHECK-NEXT: scf.yield
"""

import triton
import triton.language as tl


@triton.jit
def backward(k_ptr, q_ptr, g_ptr, delta_ptr, out_ptr, n):
    rows, columns = tl.arange(0, 64), tl.arange(0, 128)
    k = tl.load(k_ptr + rows[:, None] * 128 + columns[None, :])
    dk = tl.zeros((64, 128), tl.float32)
    dv = tl.zeros((64, 128), tl.float32)
    for start in range(0, n, 64):
        at = (start + rows)[:, None] * 128 + columns[None, :]
        q, g = tl.load(q_ptr + at), tl.load(g_ptr + at)
        scores, changes = tl.dot(k, q.T), tl.dot(k, g.T)
        weights = tl.exp2(scores)
        dv = tl.dot(weights.to(tl.float16), g, dv)
        changes = weights * (changes - tl.load(delta_ptr + start + rows)[None, :])
        dk = tl.dot(changes.to(tl.float16), q, dk)
    tl.store(out_ptr + rows[:, None] * 128 + columns[None, :], (dk + dv).to(tl.float16))
