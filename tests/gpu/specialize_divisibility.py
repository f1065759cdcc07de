"""Arguments that are not multiples of 16: the versions that the kernel requests, and its code for multiples of 8, 4 or 2."""
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,m=i32,k=i32,stride=i32' --until specialize-divisibility | FileCheck %s --check-prefix=ODD
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,m=i32,k=i32,stride=i32:8' | FileCheck %s --check-prefix=EIGHT
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit ptx --signature 'a=*fp16:16,b=*fp16:16,c=*fp32:16,m=i32,k=i32:2,stride=i32:2' | FileCheck %s --check-prefix=TWO
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --until specialize-divisibility --signature 'x=*fp32:16,n=i32,scale=i32' | FileCheck %s --check-prefix=ROWS
# RUN: tilewright compile %s --kernel excluded --target cuda:sm_90a --until specialize-divisibility --signature 'x=*fp32:16,n=i32' | FileCheck %s --check-prefix=EXCLUDED
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --signature 'x=*fp32:16,n=i32,scale=i32' | FileCheck %s --check-prefix=EXPLAIN

import triton
import triton.language as tl

# The number of rows limits no access along a row.
# ODD-NOT: "m is not a multiple
# ODD-DAG: "k is not a multiple of 8"
# ODD-DAG: "stride is not a multiple of 8"
# ODD-DAG: "stride is not a multiple of 2"
# EIGHT: cp.async.bulk.tensor.2d
# The kernel does not rely on a versioning request.
# TWO-NOT: assumes: stride is
# TWO: cp.async.ca.shared.global {{.*}}, 4


@triton.jit
def product(a, b, c, m, k, stride):
    rows, columns, ks = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 32)
    total = tl.zeros((64, 64), tl.float32)
    for start in range(0, k, 32):
        inside = start + ks < k
        x = tl.load(a + rows[:, None] * stride + (start + ks)[None, :], mask=(rows[:, None] < m) & inside[None, :], other=0.0)
        y = tl.load(b + (start + ks)[:, None] * 64 + columns[None, :], mask=inside[:, None], other=0.0)
        total = tl.dot(x, y, total)
    tl.store(c + rows[:, None] * 64 + columns[None, :], total, mask=rows[:, None] < m)


# An access of 16 bytes is four elements; more divisibility would not make it wider.
# ROWS-NOT: n is not a multiple of 8
# ROWS-DAG: "n is not a multiple of 4"
# ROWS-DAG: "n is not a multiple of 2"
# ROWS-NOT: scale is not
# EXPLAIN-NOT: Assumed, and checked
# EXPLAIN: Launches that fail these guards get a faster version
# EXPLAIN-NEXT: n is not a multiple of 4


@triton.jit
def rows(x, n, scale):
    at = tl.arange(0, 1024)
    place = x + tl.program_id(0) * n + at
    tl.store(place, tl.load(place, mask=at < n) * scale, mask=at < n)


# EXCLUDED-NOT: not a multiple
# EXCLUDED: tt.func
# EXCLUDED-NOT: not a multiple


@triton.jit(do_not_specialize=["n"])
def excluded(x, n):
    at = tl.arange(0, 1024)
    place = x + tl.program_id(0) * n + at
    tl.store(place, tl.load(place, mask=at < n) * 2, mask=at < n)
