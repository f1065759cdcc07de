"""Loops of partitions whose number of iterations is known: their conditions have been folded. The barriers between partitions are verified with
these bounds."""
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,K=1024' --num-warps 8 --num-stages 3 --num-ctas 2 | FileCheck %s
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,K=1088' --num-warps 8 --num-stages 3 --num-ctas 2 | FileCheck %s
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,K=1048576' --num-warps 8 --num-stages 3 --num-ctas 2 | FileCheck %s

# CHECK: partition0() num_warps(1)
import triton
import triton.language as tl


@triton.jit
def mm(a_ptr, b_ptr, c_ptr, m, n, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [m, K], [K, 1], [256, 64])
    b = tl.make_tensor_descriptor(b_ptr, [n, K], [K, 1], [128, 64])
    c = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [256, 128])
    tiles_n = tl.cdiv(n, 128)
    x = tl.program_id(0) // tiles_n * 256
    y = tl.program_id(0) % tiles_n * 128
    acc = tl.zeros((256, 128), tl.float32)
    for k in tl.range(0, K, 64, warp_specialize=True):
        acc = tl.dot(a.load([x, k]), b.load([y, k]).T, acc)
    c.store([x, y], acc.to(tl.float16))
