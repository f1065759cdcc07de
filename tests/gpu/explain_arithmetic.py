"""What explain says about dots by multiply-add instructions, and the operations that it counts."""
# RUN: tilewright explain %s --kernel ieee --signature '*fp32:16, *fp32:16, *fp32:16, i32:16' --target cuda:sm_90a | FileCheck %s --check-prefix=IEEE
# RUN: tilewright explain %s --kernel counted --signature '*fp32:16, *fp32:16' --target cuda:sm_90a | FileCheck %s --check-prefix=COUNTED

import triton
import triton.language as tl


# IEEE: multiply-add instructions, A and B in shared memory
# IEEE: Buffers in shared memory
# IEEE: 32x32 f32, 3 stages, 12288 bytes at offset 0, swizzle 128: written by cp.async
# IEEE-SAME: read by multiply-add
# IEEE-NEXT: instructions, element by element
@triton.jit
def ieee(a_ptr, b_ptr, c_ptr, K):
    i = tl.arange(0, 32)
    total = tl.zeros([32, 32], tl.float32)
    for k in range(0, K, 32):
        a = tl.load(a_ptr + i[:, None] * K + k + i[None, :])
        b = tl.load(b_ptr + (k + i[:, None]) * 32 + i[None, :])
        total += tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + i[:, None] * 32 + i[None, :], total)


@triton.jit
def add_squares(x, y):
    return x * x + y * y


# Per element: two operations of fma, and three of the mapped function.
# COUNTED: 8.19 kB loaded and stored, 5.12 kFLOP
@triton.jit
def counted(x_ptr, out_ptr):
    i = tl.arange(0, 1024)
    x = tl.load(x_ptr + i)
    tl.store(out_ptr + i, tl.map_elementwise(add_squares, tl.fma(x, x, x), x))
