"""Dots by threads: lanes 0 and 1 have the same columns, 0 and 2 the same rows, so half a warp reads 16 bytes a lane of each operand at once. The
chunks of A's rows are swizzled to avoid bank conflicts."""
# RUN: tilewright compile %s --target cuda:sm_90a --until assign-layouts --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, 32, 32, 32' | FileCheck %s --check-prefix=EIGHT
# RUN: tilewright compile %s --target cuda:sm_90a --until assign-layouts --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, 16, 512, 32' | FileCheck %s --check-prefix=WIDE
# RUN: tilewright compile %s --target cuda:sm_90a --until select-tensor-cores --signature '*fp32:16, *fp32:16, *fp32:16, i32:16, 32, 32, 32' | FileCheck %s --check-prefix=CHUNKS
# RUN: tilewright run %s --arg 'a=randn:f32[64,64]' --arg 'b=randn:f32[64,32]' --arg 'c=empty:f32[64,32]' --arg depth=64 --arg M=64 --arg N=32 --arg K=32 --grid 1 --simulate --out c=%t.npy
# RUN: tilewright run %s --arg 'a=randn:f32[64,64]' --arg 'b=randn:f32[64,32]' --arg 'c=empty:f32[64,32]' --arg depth=64 --arg M=64 --arg N=32 --arg K=32 --grid 1 --check c=%t.npy
# RUN: tilewright run %s --arg 'a=randn:f32[64,64]' --arg 'b=randn:f32[64,32]' --arg 'c=empty:f32[64,32]' --arg depth=64 --arg M=64 --arg N=32 --arg K=16 --grid 1 --simulate --out c=%t.npy
# RUN: tilewright run %s --arg 'a=randn:f32[64,64]' --arg 'b=randn:f32[64,32]' --arg 'c=empty:f32[64,32]' --arg depth=64 --arg M=64 --arg N=32 --arg K=16 --grid 1 --check c=%t.npy
import triton
import triton.language as tl


# CHUNKS: ttg.alloc {{.*}}32x32, offset {{\[\[0, 1\], \[0, 2\], \[0, 4\], \[0, 8\], \[0, 16\], \[1, 4\], \[2, 8\], \[4, 16\]}}
# EIGHT: reg {{\[\[0, 1\], \[0, 2\], \[1, 0\]\], lane \[\[2, 0\], \[0, 4\], \[0, 8\], \[0, 16\], \[4, 0\]\]}}
# WIDE: reg {{\[\[0, 1\], \[0, 2\], .*\], lane \[\[4, 0\], \[0, 4\], \[0, 8\], \[0, 16\], \[8, 0\]\]}}
@triton.jit
def k(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        x = tl.load(a + m[:, None] * depth + (start + d)[None, :])
        y = tl.load(b + (start + d)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc)
