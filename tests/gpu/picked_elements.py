"""Reductions that select a value and its index, in any form of their region: two redux for a warp and two for all warps, instead of shuffles. If the
kernel uses the value, it comes by one more of each, with the sign of its zero. Other reductions of pairs use shuffles. Integer sums have an
instruction of their own."""
# RUN: tilewright compile %s --kernel first_largest --target cuda:sm_90a --emit ptx --signature '*fp32:16,*i32:16,N=1024' | FileCheck %s --check-prefix=INDEX
# RUN: tilewright compile %s --kernel first_largest --target cuda:sm_90a --emit ptx --signature '*i32:16,*i32:16,N=32' --num-warps 1 | FileCheck %s --check-prefix=SHORT
# RUN: tilewright compile %s --kernel nan_first --target cuda:sm_90a --emit ptx --signature '*fp32:16,*i32:16,*fp32:16,N=1024' | FileCheck %s --check-prefix=BOTH
# RUN: tilewright compile %s --kernel as_upstream --target cuda:sm_90a --emit ptx --signature '*fp32:16,*i32:16,N=1024' | FileCheck %s --check-prefix=INDEX
# RUN: tilewright compile %s --kernel not_a_choice --target cuda:sm_90a --emit ptx --signature '*fp32:16,*i32:16,N=1024' | FileCheck %s --check-prefix=OTHER
# RUN: tilewright compile %s --kernel index_of_other --target cuda:sm_90a --emit ptx --signature '*fp32:16,*i32:16,N=1024' | FileCheck %s --check-prefix=OTHER
# RUN: tilewright compile %s --kernel sum_of_integers --target cuda:sm_90a --emit ptx --signature '*i32:16,*i32:16,N=1024' | FileCheck %s --check-prefix=SUM

import triton
import triton.language as tl


# INDEX-NOT: shfl.sync.bfly
# INDEX: redux.sync.max.s32
# INDEX: redux.sync.min.s32
# INDEX: redux.sync.max.s32
# INDEX: redux.sync.min.s32
# INDEX-NOT: redux
# SHORT-COUNT-2: redux.sync
# SHORT-NOT: redux
@triton.jit
def first_largest(x, o, N: tl.constexpr):
    tl.store(o + tl.program_id(0), tl.argmax(tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), 0))


@triton.jit
def _nan_first(a, i, b, j):
    wins, equal = a > b, a == b
    wins |= (a != a) & (not (b != b))
    equal |= (a != a) & (b != b)
    wins |= equal & (i < j)
    return tl.where(wins, a, b), tl.where(wins, i, j)


# BOTH-NOT: shfl.sync.bfly
# BOTH: redux.sync.max.s32
# BOTH: redux.sync.min.s32
# BOTH: redux.sync.or.b32
# BOTH-COUNT-3: redux.sync
# BOTH-NOT: redux
@triton.jit
def nan_first(x, o, v, N: tl.constexpr):
    i = tl.arange(0, N)
    best, place = tl.reduce((tl.load(x + i), i), 0, _nan_first)
    tl.store(o, place)
    tl.store(v, best)


@triton.jit
def _as_upstream(a, i, b, j):
    first = a > b or (a == b and i < j)
    return tl.where(first, a, b), tl.where(first, i, j)


@triton.jit
def as_upstream(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    best, place = tl.reduce((tl.load(x + i), i), 0, _as_upstream)
    tl.store(o, place)


# OTHER-NOT: redux
@triton.jit
def _not_a_choice(a, i, b, j):
    first = a > b or (a == b and i < j)
    return tl.where(first, a, b), i + j


@triton.jit
def not_a_choice(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    best, place = tl.reduce((tl.load(x + i), i), 0, _not_a_choice)
    tl.store(o, place)


@triton.jit
def _index_of_other(a, i, b, j):
    return tl.where(a > b, a, b), tl.where(i < j, i, j)


@triton.jit
def index_of_other(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    best, place = tl.reduce((tl.load(x + i), i), 0, _index_of_other)
    tl.store(o, place)


# SUM-NOT: shfl.sync.bfly
# SUM: redux.sync.add.s32
# SUM-NOT: redux
@triton.jit
def sum_of_integers(x, o, N: tl.constexpr):
    tl.store(o, tl.sum(tl.load(x + tl.arange(0, N))))
