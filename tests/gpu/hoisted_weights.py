"""Weights of a normalized row are loaded next to the row if few registers hold them: not before a store that may change them, nor with long rows."""
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --until hoist-loads --num-warps 2 --signature 'x=*fp16:16,w=*fp16:16,y=*fp16:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=EARLY
# RUN: tilewright compile %s --kernel k --target cuda:sm_90a --until hoist-loads --num-warps 2 --signature 'x=*fp16:16,w=*fp16:16,y=*fp16:16,n=i32:16,BLOCK=4096' | FileCheck %s --check-prefix=LATE
# RUN: tilewright compile %s --kernel stored --target cuda:sm_90a --until hoist-loads --num-warps 2 --signature 'x=*fp16:16,w=*fp16:16,y=*fp16:16,n=i32:16,BLOCK=1024' | FileCheck %s --check-prefix=LATE
# RUN: tilewright run %s --kernel k --arg 'x=randn:f32[4,256]' --arg 'w=randn:f32[256]' --arg 'y=empty:f32[4,256]' --arg n=200 --arg BLOCK=256 --grid 4 --num-warps 2 --simulate --out y=%t.npy
# RUN: tilewright run %s --kernel k --arg 'x=randn:f32[4,256]' --arg 'w=randn:f32[256]' --arg 'y=empty:f32[4,256]' --arg n=200 --arg BLOCK=256 --grid 4 --check y=%t.npy
# RUN: tilewright compile %s --kernel stored_before --target cuda:sm_90a --until hoist-loads --num-warps 2 --signature 'x=*fp32:16,w=*fp32:16,n=i32:16,BLOCK=256' | FileCheck %s --check-prefix=LATE
# RUN: tilewright run %s --kernel stored_before --arg 'x=randn:f32[256]' --arg 'w=randn:f32[256]' --arg n=200 --arg BLOCK=256 --grid 1 --num-warps 2 --simulate --out w=%t.npy
# RUN: tilewright run %s --kernel stored_before --arg 'x=randn:f32[256]' --arg 'w=randn:f32[256]' --arg n=200 --arg BLOCK=256 --grid 1 --check w=%t.npy
# RUN: tilewright compile %s --kernel after_table --target cuda:sm_90a --until hoist-loads --num-warps 2 --signature 'x=*i32:16,table=*i32:16,w=*i32:16,y=*i32:16' | FileCheck %s --check-prefix=TABLE

import triton
import triton.language as tl


# EARLY: tt.load
# EARLY: tt.load
# EARLY: tt.reduce
# EARLY-NOT: tt.load
# LATE: tt.load
# LATE: tt.reduce
# LATE: tt.load
@triton.jit
def k(x, w, y, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    held = tl.load(x + row * BLOCK + i, mask=i < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(held * held) / n)
    tl.store(y + row * BLOCK + i, held * scale * tl.load(w + i, mask=i < n), mask=i < n)


@triton.jit
def stored(x, w, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    held = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(held * held) / n)
    tl.store(y + i, held * scale, mask=i < n)
    tl.store(x + i, tl.load(w + i, mask=i < n), mask=i < n)


@triton.jit
def stored_before(x, w, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    held = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(w + i, held + 1, mask=i < n)
    total = tl.sum(held * held)
    tl.store(w + i, total * tl.load(w + i, mask=i < n), mask=i < n)


# A load that needs the sum stays after it, and its registers do not count.
# TABLE: tt.load
# TABLE: tt.load
# TABLE: tt.reduce
# TABLE: tt.load
@triton.jit
def after_table(x, table, w, y):
    i = tl.arange(0, 1024)
    total = tl.sum(tl.load(x + i))
    first = tl.load(table + total + i)
    tl.store(y + i, first * tl.load(w + i))
