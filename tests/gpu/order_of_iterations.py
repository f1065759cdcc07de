"""Global memory in loops: a barrier only if a thread may meet an address of another thread, and before the loop if that suffices."""
# RUN: tilewright compile %s --kernel in_place --signature '*fp32:16, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=INPLACE
# RUN: tilewright compile %s --kernel rows --signature '*fp32:16' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=ROWS
# RUN: tilewright compile %s --kernel overlapping --signature '*fp32:16, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=OVERLAP
# RUN: tilewright compile %s --kernel after --signature '*fp32:16, *fp32:16, i32' --num-warps 4 --target cuda:sm_90a --until order-accesses | FileCheck %s --check-prefix=AFTER

import triton
import triton.language as tl


# INPLACE-LABEL: tt.func public @in_place
# INPLACE-NOT: ttg.cta_barrier
@triton.jit
def in_place(x_ptr, n):
    x_ptr += tl.program_id(0) * n
    for start in range(0, n, 1024):
        i = start + tl.arange(0, 1024)
        tl.store(x_ptr + i, tl.load(x_ptr + i, i < n) + 1, i < n)


# A row has 384 elements, as many as the iterations make of 64: rows are disjoint.
# ROWS-LABEL: tt.func public @rows
# ROWS-NOT: ttg.cta_barrier
@triton.jit
def rows(x_ptr):
    for start in range(0, 384, 64):
        at = tl.arange(0, 8)[:, None] * 384 + start + tl.arange(0, 64)[None, :]
        tl.store(x_ptr + at, tl.load(x_ptr + at) + 1)


# OVERLAP-LABEL: tt.func public @overlapping
# OVERLAP: scf.for
# OVERLAP: ttg.cta_barrier
# OVERLAP: tt.load
# OVERLAP: tt.store
@triton.jit
def overlapping(x_ptr, n):
    for start in range(0, n, 512):
        i = start + tl.arange(0, 1024)
        tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)


# AFTER-LABEL: tt.func public @after
# AFTER: tt.store
# AFTER: ttg.cta_barrier
# AFTER: scf.for
# AFTER-NOT: ttg.cta_barrier
@triton.jit
def after(x_ptr, out_ptr, n):
    i = tl.arange(0, 1024)
    tl.store(x_ptr + i, i.to(tl.float32))
    for j in range(n):
        tl.store(out_ptr + j * 1024 + i, tl.load(x_ptr + (i ^ 33)))
