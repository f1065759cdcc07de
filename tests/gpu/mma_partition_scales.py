"""RUN: tilewright compile %s --kernel persistent --signature '*fp8e4nv:16, *u8:16, *fp8e4nv:16, *u8:16, *fp32:16, i32:16, i32:16, i32:16, i32:16, M=128, N=128, K=128' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-stages 3 --until specialize-warps | FileCheck %s

The warp for MMAs copies scales to the set of columns that the MMA before the last one has read. Sums take 2 x 128 columns, the sets 2 x 8.

CHECK: %[[memory:.*]] = ttg.tensor_alloc 512
CHECK: %[[scales:.*]] = arith.addi %[[memory]], %{{.*}}
CHECK: default {
CHECK-NOT: ttg.tcgen05_wait
CHECK: partition1() num_warps(1)
CHECK: scf.for {{.*}} iter_args({{.*}}, %[[before:.*]] = %{{.*}}) -> (i32, i32, i32
CHECK: scf.for {{.*}} iter_args({{.*}}, %[[number:.*]] = %[[before]]) ->
CHECK: ttg.barrier_wait {{.*}} {firstWarp}
CHECK: ttg.tcgen05_wait 1 of %[[read:.*]] at %[[number]]
CHECK: %[[set:.*]] = arith.andi %[[number]], %{{.*}}
CHECK: %[[eight:.*]] = arith.constant 8
CHECK: %[[offset:.*]] = arith.muli %[[set]], %[[eight]]
CHECK: %[[columns:.*]] = arith.addi %[[scales]], %[[offset]]
CHECK: ttg.tcgen05_mma {{.*}} to %[[read]] : !ttg.barriers<2> at %[[number]] scales {{.*}} in %[[columns]]
CHECK: %[[next:.*]] = arith.addi %[[number]], %{{.*}}
CHECK: scf.yield {{.*}}, %[[next]]
"""

import triton
import triton.language as tl


@triton.jit
def ordered(scales, block, word, M: tl.constexpr, GROUPS: tl.constexpr):
    tile = scales.load([block, word, 0, 0])
    return tile.reshape(M // 128, GROUPS // 4, 32, 4, 4).permute(0, 3, 2, 1, 4).reshape(M, GROUPS)


@triton.jit
def persistent(a_ptr, s_ptr, b_ptr, t_ptr, c_ptr, rows, columns, depth, words, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, [rows, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [columns, depth], [depth, 1], [N, K])
    c = tl.make_tensor_descriptor(c_ptr, [rows, columns], [columns, 1], [M, N])
    s = tl.make_tensor_descriptor(s_ptr, [rows, words, 2, 256], [words * 512, 512, 256, 1], [M // 128, K // 128, 2, 256])
    t = tl.make_tensor_descriptor(t_ptr, [columns, words, 2, 256], [words * 512, 512, 256, 1], [N // 128, K // 128, 2, 256])
    across = tl.cdiv(columns, N)
    for tile in range(tl.program_id(0), tl.cdiv(rows, M) * across, tl.num_programs(0)):
        m, n = tile // across, tile % across
        acc = tl.zeros((M, N), tl.float32)
        for k in range(0, words):
            x, y = a.load([m * M, k * K]), b.load([n * N, k * K])
            x_scale = ordered(s, m * (M // 128), k * (K // 128), M, K // 32)
            y_scale = ordered(t, n * (N // 128), k * (K // 128), N, K // 32)
            acc = tl.dot_scaled(x, x_scale, "e4m3", y.T, y_scale, "e4m3", acc)
        c.store([m * M, n * N], acc)


@triton.jit
def two_sums(a_ptr, s_ptr, b_ptr, t_ptr, c_ptr, d_ptr, depth, words, M: tl.constexpr, K: tl.constexpr):
    """For plan_accumulators.mlir: two dots share the columns of their scales."""
    a = tl.make_tensor_descriptor(a_ptr, [M, depth], [depth, 1], [M, K])
    b = tl.make_tensor_descriptor(b_ptr, [M, depth], [depth, 1], [M, K])
    s = tl.make_tensor_descriptor(s_ptr, [M // 128, words, 2, 256], [words * 512, 512, 256, 1], [M // 128, K // 128, 2, 256])
    t = tl.make_tensor_descriptor(t_ptr, [M // 128, words, 2, 256], [words * 512, 512, 256, 1], [M // 128, K // 128, 2, 256])
    one, other = tl.zeros((M, M), tl.float32), tl.zeros((M, M), tl.float32)
    for k in range(0, words):
        x, y = a.load([0, k * K]), b.load([0, k * K])
        x_scale, y_scale = ordered(s, 0, k * (K // 128), M, K // 32), ordered(t, 0, k * (K // 128), M, K // 32)
        one = tl.dot_scaled(x, x_scale, "e4m3", y.T, y_scale, "e4m3", one)
        other = tl.dot_scaled(y, y_scale, "e4m3", x.T, x_scale, "e4m3", other)
    n = tl.arange(0, M)
    tl.store(c_ptr + n[:, None] * M + n[None, :], one)
    tl.store(d_ptr + n[:, None] * M + n[None, :], other)
