"""RUN: tilewright compile %s --kernel product --signature '*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, M=256, N=256, B="e4m3"' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-ctas 2 --num-stages 2 --until schedule-loops | FileCheck %s --check-prefix=SCHEDULE
RUN: tilewright compile %s --kernel product --signature '*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, M=256, N=256, B="e4m3"' \
RUN:   --target cuda:sm_100a --num-warps 8 --num-ctas 2 --num-stages 2 --until specialize-warps | FileCheck %s
RUN: tilewright compile %s --kernel product --signature '*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, M=256, N=256, B="e4m3"' \
RUN:   --target cuda:sm_103a --num-warps 8 --num-ctas 2 --num-stages 2 --until lower-to-threads | FileCheck %s --check-prefix=THREAD
RUN: tilewright compile %s --kernel product --signature '*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, M=256, N=128, B="e2m1"' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-ctas 2 --num-stages 2 --until schedule-loops | FileCheck %s --check-prefix=PADDED
RUN: tilewright explain %s --kernel product --signature '*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, M=256, N=64, B="e4m3"' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-ctas 2 --num-stages 2 | FileCheck %s --check-prefix=THREADS
RUN: tilewright explain %s --kernel product --signature '*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, M=128, N=256, B="e4m3"' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-ctas 2 --num-stages 2 | FileCheck %s --check-prefix=COLUMNS
RUN: tilewright explain %s --kernel product --signature '*u8:16, *u8:16, *u8:16, *u8:16, *fp32:16, i32, i32:16, i32:16, M=64, N=16, B="e4m3"' \
RUN:   --target cuda:sm_100a --num-warps 4 --num-ctas 2 --num-stages 2 | FileCheck %s --check-prefix=SMALL

Each CTA copies its rows of A and of A's scales, half of B's columns, and the scales of all columns.

SCHEDULE: #ttg.loop_schedule<
SCHEDULE-DAG: ttg.descriptor_load {{.*}} : tensor<128x128xi8
SCHEDULE-DAG: ttg.descriptor_load {{.*}} : tensor<1x1x32x16xi8
SCHEDULE-DAG: ttg.descriptor_load {{.*}} : tensor<2x1x32x16xi8
SCHEDULE: ttg.mma_async {{.*}}paired,

Each CTA loads one half of B's scales, for both.

CHECK: ttg.barrier_expect {{.*}}, 68608 if
CHECK: ttg.tma_load {{.*}} {multicast, toLeader} {{.*}}2x1x32x16
CHECK: ttg.tcgen05_mma {{.*}}paired

The first CTA copies the scales to tensor memory of both.

THREAD: ptx.tcgen05_cp {{.*}}ctaGroup = 2
THREAD: ptx.tcgen05_mma mxf8f6f4 {{.*}} scales {{.*}}ctaGroup = 2 : i32, scaleBlock = 32

Half of a tile of 4-bit numbers has the padding of the whole.

PADDED: ttg.descriptor_load {{.*}} : tensor<64x64xi8
PADDED: ttg.mma_async {{.*}}paired,
THREADS: CTA multiplies by itself: the scales of a dot are not copied by
COLUMNS: 128x128 e4m3 * 128x128 e4m3 -> 128x128 f32: tcgen05.mma
COLUMNS-NEXT: split across CTAs along dimension 1
COLUMNS: each CTA multiplies by itself: the CTAs may have
SMALL: bf16 * {{.*}} bf16 -> 64x16 f32
"""

import triton
import triton.language as tl


@triton.jit
def scales_of(pointer, word, words, ROWS: tl.constexpr):
    """In memory, the scales of 128 rows are [words, row % 32, row / 32, 4]; those of fewer rows are [rows, words * 4]."""
    if ROWS < 128:
        return tl.load(pointer + tl.arange(0, ROWS)[:, None] * (words * 4) + word * 4 + tl.arange(0, 4)[None, :])
    block, row, inner = tl.arange(0, ROWS // 128)[:, None, None, None], tl.arange(0, 32)[None, None, :, None], tl.arange(0, 16)[None, None, None, :]
    tile = tl.load(pointer + (block * words + word + tl.arange(0, 1)[None, :, None, None]) * 512 + row * 16 + inner)
    return tile.reshape(ROWS // 128, 1, 32, 4, 4).permute(0, 3, 2, 1, 4).reshape(ROWS, 4)


@triton.jit
def product(a, a_scale, b, b_scale, c, words, a_row, b_row, M: tl.constexpr, N: tl.constexpr, B: tl.constexpr):
    BYTES: tl.constexpr = 64 if B == "e2m1" else 128
    rows, columns, ks = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, BYTES)
    total = tl.zeros((M, N), tl.float32)
    for step in range(words):
        x = tl.load(a + rows[:, None] * a_row + (step * 128 + tl.arange(0, 128))[None, :])
        y = tl.load(b + columns[:, None] * b_row + (step * BYTES + ks)[None, :])
        total = tl.dot_scaled(x, scales_of(a_scale, step, words, M), "e4m3", y.T, scales_of(b_scale, step, words, N), B, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total)
