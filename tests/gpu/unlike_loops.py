"""The first of two loops of a persistent loop may keep its circular buffers from tile to tile only if the second one continues with them, or if its own
buffers fit next to them. With stages of 64 KiB, three of the first loop leave no space for one of the second."""
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --num-warps 8 --num-stages 3 --until schedule-loops --signature '*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,3' | FileCheck %s --check-prefix=ALIKE
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --num-warps 8 --num-stages 3 --until schedule-loops --signature '*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,2' | FileCheck %s --check-prefix=UNLIKE
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --num-warps 8 --num-stages 3 --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16,i32,2' | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel mm --target cuda:sm_90a --num-warps 8 --num-stages 3 --emit ptx --signature '*fp16:16,*fp16:16,*bf16:16,*bf16:16,*fp16:16,i32:16,i32:16,i32:16,i32,3' | FileCheck %s --check-prefix=PTX
# ALIKE: <tma depth 3 {{.*}} cross_tile true>
# ALIKE: <tma depth 3 {{.*}} cross_tile true continues 0>
# UNLIKE: <tma depth 3
# UNLIKE-NOT: cross_tile
# UNLIKE: <tma depth 2
# UNLIKE-NOT: cross_tile
# PTX: wgmma.mma_async
import triton
import triton.language as tl


@triton.jit
def mm(a, b, u, v, c, M, N, K, tiles, STAGES: tl.constexpr):
    x = tl.make_tensor_descriptor(a, [M, K], [K, 1], [128, 128])
    y = tl.make_tensor_descriptor(b, [K, N], [N, 1], [128, 128])
    x2 = tl.make_tensor_descriptor(u, [M, K], [K, 1], [128, 128])
    y2 = tl.make_tensor_descriptor(v, [K, N], [N, 1], [128, 128])
    z = tl.make_tensor_descriptor(c, [M, N], [N, 1], [128, 128])
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):
        m, n = tile // (N // 128) * 128, tile % (N // 128) * 128
        sums = tl.zeros((128, 128), tl.float32)
        for k in tl.range(0, K, 128, warp_specialize=True):
            sums = tl.dot(x.load([m, k]), y.load([k, n]), sums)
        for k in tl.range(0, K, 128, warp_specialize=True, num_stages=STAGES):
            sums = tl.dot(x2.load([m, k]), y2.load([k, n]), sums)
        z.store([m, n], sums.to(tl.float16))
