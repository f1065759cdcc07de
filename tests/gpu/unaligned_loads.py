"""Rows of a dot that start at any address: the aligned words around eight contiguous elements are loaded and shifted."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --until assign-layouts --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32' | FileCheck %s --check-prefix=PLAN
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32' | FileCheck %s --check-prefix=PTX
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --until assign-layouts --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32:2' | FileCheck %s --check-prefix=ALIGNED
# RUN: tilewright explain %s --kernel product --target cuda:sm_90a --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32' | FileCheck %s --check-prefix=EXPLAIN
# RUN: tilewright compile %s --kernel once --target cuda:sm_90a --until assign-layouts --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,k=i32' | FileCheck %s --check-prefix=ONCE

import triton
import triton.language as tl

# Rows of a have k fp16 numbers; the stride of b's rows is 64.
# PLAN-COUNT-1: tt.load {{.*}}ttg.unaligned, {{.*}}ttg.vector = 8 : i32
# PLAN-NOT: ttg.unaligned

# PTX-NOT: ld.global.b16
# PTX: ld.global.v4.b32
# PTX: prmt.b32
# PTX: st.shared.v4.b32
# PTX: wgmma

# cp.async copies them, 4 bytes at a time.
# ALIGNED-NOT: ttg.unaligned

# EXPLAIN: as aligned words that threads shift

# There is no loop in which loads could be prefetched.
# ONCE-NOT: ttg.unaligned


@triton.jit
def product(a, b, c, k):
    rows, columns, ks = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 32):
        inside = start + ks < k
        x = tl.load(a + rows[:, None] * k + (start + ks)[None, :], mask=inside[None, :], other=0.0)
        y = tl.load(b + (start + ks)[:, None] * 64 + columns[None, :], mask=inside[:, None], other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * 64 + columns[None, :], total)


@triton.jit
def once(a, b, c, k):
    rows, columns, ks = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    x = tl.load(a + rows[:, None] * k + ks[None, :])
    y = tl.load(b + ks[:, None] * 64 + columns[None, :])
    tl.store(c + rows[:, None] * 64 + columns[None, :], tl.dot(x, y))
