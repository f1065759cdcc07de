"""Rows of a dot are loaded at index % M: the modulo is dropped if the store masks the same rows, and stays otherwise."""
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,m=i32,n=i32,sn=i32:16,BY=0,MASK=0' | FileCheck %s --check-prefix=DROPPED
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,m=i32,n=i32,sn=i32:16,BY=0,MASK=1' | FileCheck %s --check-prefix=KEPT
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,m=i32,n=i32,sn=i32:16,BY=1,MASK=0' | FileCheck %s --check-prefix=KEPT
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,m=i32,n=i32,sn=i32:16,BY=2,MASK=0' | FileCheck %s --check-prefix=KEPT
# RUN: tilewright compile %s --kernel inner --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,m=i32,sn=i32:16' | FileCheck %s --check-prefix=KEPT
# RUN: tilewright compile %s --kernel chained --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,m=i32,sn=i32:16' | FileCheck %s --check-prefix=DROPPED
# RUN: tilewright compile %s --kernel late --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,c=*fp16:16,m=i32,sn=i32:16' | FileCheck %s --check-prefix=KEPT

# DROPPED: ttg.tensor_map<base = 0, offset = [], dims = {{\[\[\]}}, [array<i64: 1, 3>]]
# DROPPED-NOT: arith.rem
# DROPPED: ttg.tma_load
# KEPT: arith.rem{{[su]}}i {{.*}}: tensor<64

import triton
import triton.language as tl


@triton.jit
def rows(a, b, c, m, n, sn, BY: tl.constexpr, MASK: tl.constexpr):
    i = tl.arange(0, 64)
    first = tl.program_id(0) * 64
    if BY == 1:
        first -= n  # may be negative, and then the modulo changes the index
    offsets = (first + i) % m
    total = tl.zeros((64, 64), tl.float32)
    for k in range(0, 4):
        x = tl.load(a + offsets[:, None] * sn + (64 * k + i)[None, :])
        total = tl.dot(x, tl.load(b + (64 * k + i)[:, None] * sn + i[None, :]), total)
    if BY == 2:
        total += tl.sum(total, 0)[None, :]  # rows are combined
    stored = first + i < m if MASK == 0 else first + i < n
    tl.store(c + (first + i)[:, None] * sn + i[None, :], total.to(tl.float16), mask=stored[:, None])


@triton.jit
def inner(a, b, c, m, sn):
    i = tl.arange(0, 64)
    first = tl.program_id(0) * 64
    # The sum is over the columns of a, so those that wrap around affect every element.
    total = tl.zeros((64, 64), tl.float32)
    for k in range(0, 4):
        x = tl.load(a + (64 * k + i)[:, None] * sn + ((first + i) % m)[None, :])
        total = tl.dot(x, tl.load(b + i[:, None] * sn + i[None, :]), total)
    tl.store(c + i[:, None] * sn + i[None, :], total.to(tl.float16), mask=(first + i < m)[:, None])


@triton.jit
def chained(a, b, c, m, sn):
    # Through a transposed dot, a reduction along the other dimension, a loop and a second dot, a row stays a row.
    i = tl.arange(0, 64)
    first = tl.program_id(0) * 64
    x = tl.load(a + ((first + i) % m)[:, None] * sn + i[None, :])
    total = tl.zeros((64, 64), tl.float32)
    for k in range(0, 4):
        y = tl.load(b + (64 * k + i)[:, None] * sn + i[None, :])
        scores = tl.trans(tl.dot(y, tl.trans(x)))
        scores -= tl.max(scores, 1)[:, None]
        total = tl.dot(scores.to(tl.float16), y, total)
    tl.store(c + (first + i)[:, None] * sn + i[None, :], total.to(tl.float16), mask=(first + i < m)[:, None])


@triton.jit
def late(a, b, c, m, sn):
    # The rows that one iteration loads are stored in the next one, which has other rows.
    i = tl.arange(0, 64)
    y = tl.load(b + i[:, None] * sn + i[None, :])
    total = tl.zeros((64, 64), tl.float32)
    for k in range(0, 4):
        rows = k * 64 + i
        tl.store(c + rows[:, None] * sn + i[None, :], total.to(tl.float16), mask=(rows < m)[:, None])
        x = tl.load(a + (rows % m)[:, None] * sn + i[None, :])
        total = tl.dot(x, y)
