"""A masked load whose other elements are -0.0 is not a copy: cp.async and aligned words write +0.0 there. It stays a plain load, in loops with dots
by cp.async, with rows that start at any address, and with long rows that could stay in shared memory."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_80 --until schedule-loops --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,OTHER=0.0' | FileCheck %s --check-prefix=COPIED
# RUN: tilewright compile %s --kernel product --target cuda:sm_80 --until schedule-loops --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:16,OTHER=-0.0' | FileCheck %s --check-prefix=LOADED
# RUN: tilewright compile %s --kernel product --target cuda:sm_80 --until assign-layouts --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32,OTHER=0.0' | FileCheck %s --check-prefix=WORDS
# RUN: tilewright compile %s --kernel product --target cuda:sm_80 --until assign-layouts --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32,OTHER=-0.0' | FileCheck %s --check-prefix=ELEMENTS
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --num-warps 4 --emit ttg --signature 'x=*fp16:16,y=*fp16:16,n=i32:16,BLOCK=16384,OTHER=0.0' | FileCheck %s --check-prefix=STAGED
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --num-warps 4 --emit ttg --signature 'x=*fp16:16,y=*fp16:16,n=i32:16,BLOCK=16384,OTHER=-0.0' | FileCheck %s --check-prefix=HELD
# RUN: tilewright run %s --kernel rows --interpret --grid 1 --num-warps 4 --arg x=randn:f16[16384] --arg y=empty:f16[16384] --arg n=16000 --arg BLOCK=16384 --arg OTHER=-0.0 --out y=%t.npy
# RUN: tilewright run %s --kernel rows --simulate --grid 1 --num-warps 4 --arg x=randn:f16[16384] --arg y=empty:f16[16384] --arg n=16000 --arg BLOCK=16384 --arg OTHER=-0.0 --check y=%t.npy --rtol 1e-3 --atol 1e-3
# RUN: tilewright run %s --kernel product --interpret --grid 1 --arg a=randn:f16[64x80] --arg b=randn:f16[80x64] --arg c=empty:f32[64x64] --arg k=80 --arg OTHER=-0.0 --out c=%t.npy
# RUN: tilewright run %s --kernel product --simulate=cuda:sm_80 --grid 1 --arg a=randn:f16[64x80] --arg b=randn:f16[80x64] --arg c=empty:f32[64x64] --arg k=80 --arg OTHER=-0.0 --check c=%t.npy --rtol 1e-3 --atol 1e-3

import triton
import triton.language as tl


# COPIED: #ttg.loop_schedule<{{.*}}<copy_async depth
# COPIED-NOT: ttg.not_pipelined
# LOADED-NOT: copy_async depth
# LOADED: ttg.not_pipelined = "elements outside of its mask are not 0"
# LOADED: ttg.not_pipelined = "elements outside of its mask are not 0"
# WORDS: tt.load {{.*}}ttg.unaligned
# ELEMENTS-NOT: ttg.unaligned
@triton.jit
def product(a, b, c, k, OTHER: tl.constexpr):
    rows, columns, ks = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 32):
        inside = start + ks < k
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :], mask=inside[None, :], other=OTHER)
        y = tl.load(b + (start + ks)[:, None] * 64 + columns[None, :], mask=inside[:, None], other=OTHER)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * 64 + columns[None, :], total)


# STAGED: ttg.copy_async
# HELD-NOT: ttg.copy_async
# Outside of the mask the results are the sign of what the load returns there: -1 for -0.0.
@triton.jit
def rows(x, y, n, BLOCK: tl.constexpr, OTHER: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    v = tl.load(x + columns, mask=columns < n, other=OTHER).to(tl.float32)
    centred = tl.where(columns < n, v - tl.sum(v, axis=0) / n, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / n)
    sign = v.to(tl.int32, bitcast=True) >> 31
    tl.store(y + columns, tl.where(columns < n, centred * rstd, sign.to(tl.float32)).to(tl.float16))
