"""A dequantize partition does not wait for the consumers' stores. So the kernel may write what the partition loads after the loop, but not before it,
and in a loop over tiles only under a guard."""
# RUN: tilewright compile %s --kernel matmul --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,s=*fp16:16,written=*fp16:16,out=*fp32:16,K=i32:16,WHERE=1' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=AFTER
# RUN: tilewright compile %s --kernel matmul --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,s=*fp16:16,written=*fp16:16,out=*fp32:16,K=i32:16,WHERE=0' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=BEFORE
# RUN: tilewright compile %s --kernel tiles --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,s=*fp16:16,written=*fp16:16,out=*fp32:16,K=i32:16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=TILES

# AFTER: partition1() num_warps(4)
# BEFORE-NOT: partition1
# TILES: s and written do not overlap
# TILES: partition1() num_warps(4)
import triton
import triton.language as tl


@triton.jit
def tile_of(a, b, s, out, tile, K):
    i, j, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    columns = tile * 128 + j
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :]).to(tl.float16)
        y = tl.load(b + columns[None, :] * K + (start + k)[:, None]).to(tl.float16)
        scale = tl.load(s + columns * (K // 64) + start // 64)
        total = tl.dot(x, y * scale[None, :], total)
    tl.store(out + i[:, None] * 256 + columns[None, :], total)


@triton.jit
def matmul(a, b, s, written, out, K, WHERE: tl.constexpr):
    if WHERE == 0:
        tl.store(written, 2.0)
    tile_of(a, b, s, out, 0, K)
    if WHERE == 1:
        tl.store(s, 2.0)


@triton.jit
def tiles(a, b, s, written, out, K):
    for tile in range(tl.program_id(0), 2, tl.num_programs(0)):
        tile_of(a, b, s, out, tile, K)
        tl.store(written, 2.0)
