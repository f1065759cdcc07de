"""Two dots read one tile, one of them with fewer columns at a time: the tile is copied once, in a layout that both can read."""
# RUN: tilewright explain %s --kernel products --target cuda:sm_90a --num-warps 8 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16' | FileCheck %s

import triton
import triton.language as tl


# CHECK: 128x64 f16 * 64x64 f16 -> 128x64 f32: wgmma m64n64k16
# CHECK: 64x64 f16 * 64x64 f16 -> 64x64 f32: wgmma m64n32k16
# CHECK: 3 stages of 32768 bytes: 128x64 f16 by TMA, 64x64 f16 by TMA, 64x64 f16 by TMA; 2 dots
@triton.jit
def products(a, b, c, k):
    first, second, n, i = tl.arange(0, 128), 128 + tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    above, below = tl.zeros((128, 64), tl.float32), tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 64):
        y = tl.load(b + (start + i)[:, None] * 64 + n[None, :])
        above = tl.dot(tl.load(a + first[:, None] * k + start + i[None, :]), y, above)
        below = tl.dot(tl.load(a + second[:, None] * k + start + i[None, :]), y, below)
    tl.store(c + first[:, None] * 64 + n[None, :], above.to(tl.float16))
    tl.store(c + second[:, None] * 64 + n[None, :], below.to(tl.float16))
