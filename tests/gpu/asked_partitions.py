"""An author who asks for partitions gets two stages at least where they overlap MMAs with copies (tcgen05).

RUN: tilewright explain %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16' --target cuda:sm_100a --num-warps 4 | FileCheck %s
CHECK: tl.range
CHECK-NEXT: 2 stages of
CHECK: a warp of its own multiplies
RUN: tilewright explain %s --signature '*fp16:16, *fp16:16, *fp16:16, i32:16' --target cuda:sm_90a --num-warps 4 | FileCheck %s --check-prefix=HOPPER
HOPPER: tl.range
HOPPER-NEXT: not pipelined, each iteration waits for its loads: num_stages is 0
"""

import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, depth):
    rows, columns, k = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((128, 128), tl.float32)
    for start in tl.range(0, depth, 64, num_stages=0, warp_specialize=True):
        a = tl.load(a_ptr + rows[:, None] * depth + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * 128 + columns[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * 128 + columns[None, :], acc.to(tl.float16))
