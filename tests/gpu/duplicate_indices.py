"""Accesses through the same pointers: a barrier between them unless each address belongs to one element, and so to one thread."""
# RUN: tilewright compile %s --kernel rows --signature '*fp32:16, i32, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=ROWS
# RUN: tilewright compile %s --kernel moving_rows --signature '*fp32:16, i32, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=MOVING
# RUN: tilewright compile %s --kernel masked_rows --signature '*fp32:16, i32, i32, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=MASKED
# RUN: tilewright compile %s --kernel loaded --signature '*fp32:16, *i32:16' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=LOADED
# RUN: tilewright compile %s --kernel halves --signature '*fp32:16, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=HALVES
# RUN: tilewright compile %s --kernel unused --signature '*fp32:16, *i32:16, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=UNUSED

import triton
import triton.language as tl


# Rows of an unknown distance do not overlap if a launch guard says so.
# ROWS-LABEL: tt.func public @rows
# ROWS-SAME: -32 + stride >= 0
# ROWS-NOT: ttg.cta_barrier
@triton.jit
def rows(x_ptr, stride, n):
    p = x_ptr + tl.arange(0, 16)[:, None] * stride + tl.arange(0, 32)[None, :]
    for _ in range(n):
        tl.store(p, tl.load(p) + 1)


# MOVING-LABEL: tt.func public @moving_rows
# MOVING-SAME: -32 + stride >= 0
# MOVING-NOT: ttg.cta_barrier
@triton.jit
def moving_rows(x_ptr, stride, n):
    for start in range(0, n, 16):
        p = x_ptr + (start + tl.arange(0, 16)[:, None]) * stride + tl.arange(0, 32)[None, :]
        tl.store(p, tl.load(p) + 1)


# MASKED-LABEL: tt.func public @masked_rows
# MASKED-SAME: {{.*}}min(
# MASKED-NOT: ttg.cta_barrier
@triton.jit
def masked_rows(x_ptr, columns, stride, n):
    j = tl.arange(0, 64)[None, :]
    p = x_ptr + tl.arange(0, 16)[:, None] * stride + j
    for _ in range(n):
        tl.store(p, tl.load(p, j < columns) + 1, j < columns)


# LOADED-LABEL: tt.func public @loaded
# LOADED: = tt.load %[[P:p]] 
# LOADED: ttg.cta_barrier
# LOADED: tt.store %[[P]]
# LOADED: ttg.cta_barrier
# LOADED: tt.load %[[P]]
# LOADED: ttg.cta_barrier
# LOADED: tt.store %[[P]]
@triton.jit
def loaded(x_ptr, index_ptr):
    p = x_ptr + tl.load(index_ptr + tl.arange(0, 1024))
    tl.store(p, tl.load(p) + 1)
    tl.store(p, tl.load(p) * 3)


# HALVES-LABEL: tt.func public @halves
# HALVES: scf.for
# HALVES: ttg.cta_barrier
# HALVES: tt.load
# HALVES: ttg.cta_barrier
# HALVES: tt.store
@triton.jit
def halves(x_ptr, n):
    p = x_ptr + tl.arange(0, 1024) // 2
    for _ in range(n):
        tl.store(p, tl.load(p) + 1)


# The rows are in order only by the barrier that other accesses need in any case.
# UNUSED-LABEL: tt.func public @unused
# UNUSED-NOT: -32 + stride >= 0
# UNUSED: tt.store
@triton.jit
def unused(x_ptr, index_ptr, stride):
    p = x_ptr + tl.arange(0, 16)[:, None] * stride + tl.arange(0, 32)[None, :]
    x = tl.load(p)
    tl.store(x_ptr + tl.load(index_ptr + tl.arange(0, 1024)), 1)
    tl.store(p, x)
