"""Loads move to the loads before a reduction together with their operands, in an order that defines each value before its use."""
# RUN: tilewright compile %s --kernel chosen --target cuda:sm_90a --until hoist-loads --signature '*i32, *i32, *i32, B=64' | FileCheck %s --check-prefix=CHOSEN
# RUN: tilewright compile %s --kernel counted --target cuda:sm_90a --until hoist-loads --signature '*i32, *i32, *i32, *i32, B=64' | FileCheck %s --check-prefix=COUNTED
# RUN: tilewright compile %s --kernel chosen --target cuda:sm_80 --emit ptx --signature '*i32, *i32, *i32, B=64' -o /dev/null
# RUN: tilewright compile %s --kernel counted --target cuda:sm_80 --emit ptx --signature '*i32, *i32, *i32, *i32, B=64' -o /dev/null
# RUN: tilewright run %s --kernel chosen --arg 'x=arange:i32[64]' --arg 'y=arange:i32[128]' --arg 'z=empty:i32[64]' --arg B=64 --grid 1 --simulate --out z=%t.npy
# RUN: tilewright run %s --kernel chosen --arg 'x=arange:i32[64]' --arg 'y=arange:i32[128]' --arg 'z=empty:i32[64]' --arg B=64 --grid 1 --check z=%t.npy
# RUN: tilewright run %s --kernel counted --arg 'p=arange:i32[64]' --arg 'q=arange:i32[64]' --arg 'r=ones:i32[1]' --arg 'o=empty:i32[64]' --arg B=64 --grid 1 --simulate --out o=%t.npy
# RUN: tilewright run %s --kernel counted --arg 'p=arange:i32[64]' --arg 'q=arange:i32[64]' --arg 'r=ones:i32[1]' --arg 'o=empty:i32[64]' --arg B=64 --grid 1 --check o=%t.npy

import triton
import triton.language as tl


# CHOSEN: tt.load
# CHOSEN: arith.select
# CHOSEN: tt.load
# CHOSEN: tt.reduce
@triton.jit
def chosen(x, y, z, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.zeros((B, ), tl.int32))
    w = tl.where(v >= 17, v, 7)
    s = tl.sum(w, 0)
    tl.store(z + i, tl.load(y + i + w) - s)


# COUNTED: tt.load
# COUNTED: tt.load
# COUNTED: arith.cmpi
# COUNTED: tt.load
# COUNTED: tt.reduce
@triton.jit
def counted(p, q, r, o, B: tl.constexpr):
    last = tl.load(r)
    i = tl.arange(0, B)
    valid = tl.load(p + i) <= last
    s = tl.sum(valid.to(tl.int32), axis=0)
    tl.store(o + i, tl.load(q + i, mask=valid, other=0) + s)
