"""Rows that are much shorter than their block: the versions that the kernel requests, and the code that a version for short rows omits."""
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --num-warps 1 --signature 'x=*fp32:16,y=*fp32:16,n=i32' --until specialize-lengths | FileCheck %s --check-prefix=LONG
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --num-warps 1 --signature 'x=*fp32:16,y=*fp32:16,n=i32' --until configure -o %t.mlir
# RUN: sed -i 's/attributes {/attributes {ttg.failed_guards = ["argument 2 is more than 160", "argument 2 is more than 192", "argument 2 is more than 224"], /' %t.mlir
# RUN: tilewright compile %t.mlir --from specialize-lengths --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=SHORT
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --num-warps 2 --signature 'x=*fp32:16,y=*fp32:16,n=i32' --until specialize-lengths | FileCheck %s --check-prefix=FOUR
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --num-warps 1 --signature 'x=*fp32:16,y=*fp32:16,n=i32:16' --until specialize-lengths | FileCheck %s --check-prefix=FEW
# RUN: tilewright compile %s --kernel blocks --target cuda:sm_90a --num-warps 1 --signature 'x=*fp32:16,y=*fp32:16,n=i32' --until specialize-lengths | FileCheck %s --check-prefix=FEW
# RUN: tilewright compile %s --kernel known --target cuda:sm_90a --num-warps 1 --signature 'x=*fp32,y=*fp32' --emit ptx | FileCheck %s --check-prefix=KNOWN
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 1 --signature 'x=*fp32:16,y=*fp32:16,n=i32' | FileCheck %s --check-prefix=EXPLAIN

import triton
import triton.language as tl

# LONG-DAG: "n is more than 160"
# LONG-DAG: "n is more than 192"
# LONG-DAG: "n is more than 224"

# Five of a thread's eight elements remain.
# SHORT: assumes: argument 2 is at most 160
# SHORT-COUNT-5: ld.global
# SHORT-NOT: ld.global
# SHORT-COUNT-5: st.global
# SHORT-NOT: st.global

# Three of a thread's four elements remain. With two accesses of four elements, none could be omitted.
# FOUR: "n is more than 192"
# FOUR-NOT: is more than
# FEW-NOT: is more than

# EXPLAIN: Launches that fail these guards get a faster version
# EXPLAIN: n is more than 160


@triton.jit
def rows(x, y, n):
    columns = tl.arange(0, 256)
    row = tl.program_id(0) * n
    value = tl.load(x + row + columns, mask=columns < n, other=0.0)
    tl.store(y + row + columns, value - tl.max(value, axis=0), mask=columns < n)


# The start of a program is unknown: n is a bound for all programs together.
@triton.jit
def blocks(x, y, n):
    columns = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(y + columns, tl.load(x + columns, mask=columns < n, other=0.0), mask=columns < n)


# 96 columns are valid for every thread, and 4 more for some.
# KNOWN-COUNT-3: {{^.}}ld.global
# KNOWN: @%p{{[0-9]+}} ld.global
# KNOWN-NOT: ld.global


@triton.jit
def known(x, y):
    columns = tl.arange(0, 256)
    mask = columns < 100
    tl.store(y + columns, tl.load(x + columns, mask=mask, other=0.0) * 2, mask=mask)
