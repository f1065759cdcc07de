# RUN: tilewright explain %s --target cuda:sm_90a --num-warps 4 --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp32:16,k=i32:16,M=128,N=256' | FileCheck %s --check-prefix=MORE
# RUN: tilewright explain %s --target cuda:sm_90a --num-warps 4 --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp32:16,k=i32:16,M=128,N=128' | FileCheck %s --check-prefix=ASKED
# RUN: tilewright run %s --simulate --grid 1 --num-warps 4 --arg a_ptr=randn:f16[128x128] --arg b_ptr=randn:f16[128x256] --arg c_ptr=zeros:f32[128x256] --arg k=128 --arg M=128 --arg N=256
#
# An accumulator of 128x256 needs 256 registers in each of 128 threads, so the kernel gets 8 warps. One of 128x128 fits.
# MORE: 8 warps, num_stages 3; raised from 4 warps, whose registers cannot hold the accumulators
# ASKED: 4 warps, num_stages 3
# ASKED-NOT: do not fit
import triton
import triton.language as tl


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, k, M: tl.constexpr, N: tl.constexpr):
    rows, columns, steps = tl.arange(0, M), tl.arange(0, N), tl.arange(0, 64)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, 64):
        a = tl.load(a_ptr + rows[:, None] * k + (start + steps)[None, :])
        b = tl.load(b_ptr + (start + steps)[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)
