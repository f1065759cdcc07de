"""A dot of the previous iteration's scores stands before the one that computes new scores, and both read the copied keys. The MMA warp would issue
the second one first, so it does not get the loop: its release of the keys would come an iteration too early."""
# RUN: tilewright explain %s --kernel late --target cuda:sm_100a --signature '*fp16:16,*fp16:16,*fp16:16,*fp32:16,*fp32:16,i32:16,HEAD=64,M=128,N=64' --num-warps 4 --num-stages 2 | FileCheck %s
# RUN: tilewright run %s --kernel late --interpret --grid 1 --num-warps 4 --num-stages 2 --arg q_ptr='randint(-2,3):f16[128x64]' --arg k_ptr='randint(-2,3):f16[256x64]' --arg v_ptr='randint(-2,3):f16[256x64]' --arg o_ptr=zeros:f32[128x64] --arg o2_ptr=zeros:f32[128x64] --arg keys=256 --arg HEAD=64 --arg M=128 --arg N=64 --out o_ptr=%t.1.npy --out o2_ptr=%t.2.npy
# RUN: tilewright run %s --kernel late --simulate=cuda:sm_100a --grid 1 --num-warps 4 --num-stages 2 --arg q_ptr='randint(-2,3):f16[128x64]' --arg k_ptr='randint(-2,3):f16[256x64]' --arg v_ptr='randint(-2,3):f16[256x64]' --arg o_ptr=zeros:f32[128x64] --arg o2_ptr=zeros:f32[128x64] --arg keys=256 --arg HEAD=64 --arg M=128 --arg N=64 --check o_ptr=%t.1.npy --check o2_ptr=%t.2.npy

# CHECK: stages are released after a dot of copies alone, before which one has an
import triton
import triton.language as tl


@triton.jit
def late(q_ptr, k_ptr, v_ptr, o_ptr, o2_ptr, keys, HEAD: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    first = tl.program_id(0) * M
    ks = tl.make_tensor_descriptor(k_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    vs = tl.make_tensor_descriptor(v_ptr, [keys, HEAD], [HEAD, 1], [N, HEAD])
    q = tl.make_tensor_descriptor(q_ptr, [M, HEAD], [HEAD, 1], [M, HEAD]).load([first, 0])
    acc1 = tl.zeros((M, HEAD), tl.float32)
    acc2 = tl.zeros((M, HEAD), tl.float32)
    prev = tl.zeros((M, N), tl.float16)
    for start in tl.range(0, keys, N):
        k = ks.load([start, 0])
        v = vs.load([start, 0])
        acc1 = tl.dot(prev, k, acc1 * 0.5)
        s = tl.dot(q, k.T)
        prev = (s * 0.25).to(tl.float16)
        acc2 = tl.dot(prev, v, acc2 * 0.5)
    tl.make_tensor_descriptor(o_ptr, [M, HEAD], [HEAD, 1], [M, HEAD]).store([first, 0], acc1)
    tl.make_tensor_descriptor(o2_ptr, [M, HEAD], [HEAD, 1], [M, HEAD]).store([first, 0], acc2)
