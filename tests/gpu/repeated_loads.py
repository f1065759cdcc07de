"""Loads that read one address for several elements of a tile (eight packed values in an int32, scales of groups) execute once a thread: registers run
along those elements. Elements with different masks, or different values for masked elements, are loaded separately."""
# RUN: tilewright compile %s --kernel unpacked --target cuda:sm_90a --emit ptx --signature 'q=*i32:16,s=*fp16:16,o=*fp16:16,N=i32:16' | FileCheck %s --check-prefix=ONCE
# RUN: tilewright compile %s --kernel masked --target cuda:sm_90a --emit ptx --signature 'q=*i32:16,o=*i32:16,k=i32,MASK="groups"' | FileCheck %s --check-prefix=GROUPS
# RUN: tilewright compile %s --kernel masked --target cuda:sm_90a --emit ptx --signature 'q=*i32:16,o=*i32:16,k=i32,MASK="each"' | FileCheck %s --check-prefix=EACH
# RUN: tilewright compile %s --kernel masked --target cuda:sm_90a --emit ptx --signature 'q=*i32:16,o=*i32:16,k=i32,MASK="other"' | FileCheck %s --check-prefix=EACH
# RUN: tilewright run %s --kernel unpacked --arg 'q=arange:i32[8,64]' --arg s=randn:f16[1,64] --arg o=empty:f16[64,64] --arg N=64 --grid 1 --simulate --out o=%t.npy
# RUN: tilewright run %s --kernel unpacked --arg 'q=arange:i32[8,64]' --arg s=randn:f16[1,64] --arg o=empty:f16[64,64] --arg N=64 --grid 1 --check o=%t.npy

import triton
import triton.language as tl


# ONCE: ld.global.v4.b32
# ONCE: ld.global.v2.b32
# ONCE-NOT: ld.global
@triton.jit
def unpacked(q, s, o, N):
    n, k = tl.program_id(0) * 64 + tl.arange(0, 64), tl.arange(0, 64)
    bits = tl.load(q + (k // 8)[:, None] * N + n[None, :]) >> (k % 8 * 4)[:, None]
    tl.store(o + k[:, None] * N + n[None, :], ((bits & 15) - 8).to(tl.float16) * tl.load(s + (k // 128)[:, None] * N + n[None, :]))


# GROUPS-COUNT-1: ld.global
# GROUPS-NOT: ld.global
# EACH-COUNT-4: ld.global
@triton.jit
def masked(q, o, k, MASK: tl.constexpr):
    i = tl.arange(0, 512)
    if MASK == "groups":
        x = tl.load(q + i // 4, mask=i // 4 < k, other=1)
    elif MASK == "each":
        x = tl.load(q + i // 4, mask=i < k, other=1)
    else:
        x = tl.load(q + i // 4, mask=i // 4 < k, other=i)
    tl.store(o + i, x)
