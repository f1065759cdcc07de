"""Code for a single row or column of a product is made for launches whose last tile has one, or has one behind whole blocks of registers
(16 rows with 32 registers, and a vector of columns); `explain` names the condition."""
# RUN: tilewright explain %s --target cpu:avx2 --signature '*fp32:16, *fp32:16, i32, i32:16' | FileCheck %s
# RUN: tilewright explain %s --target cpu:avx2 --signature '*fp32:16, *fp32:16, 33, i32:16' | FileCheck %s --check-prefix=KNOWN
# RUN: tilewright explain %s --target cpu:avx512 --signature '*fp32:16, *fp32:16, i32, i32:16' | FileCheck %s --check-prefix=WIDE

import triton
import triton.language as tl

# CHECK: Launches that fail these guards get a faster version
# CHECK-NEXT: M % 32 is not 1
# CHECK-NEXT: N % 32 is not 0
# CHECK-NEXT: N % 8 is not 0

# KNOWN: Launches that fail these guards get a faster version
# KNOWN-NEXT: N % 32 is not 0
# KNOWN-NEXT: N % 8 is not 0

# WIDE: Launches that fail these guards get a faster version
# WIDE-NEXT: M % 32 is not 1
# WIDE-NEXT: N % 32 is not 0
# WIDE-NEXT: M % 16 is not 1
# WIDE-NEXT: N % 16 is not 0


@triton.jit
def product(a_ptr, c_ptr, M, N):
    i, k = tl.program_id(0) * 32 + tl.arange(0, 32), tl.arange(0, 32)
    a = tl.load(a_ptr + i[:, None] * 32 + k[None, :])
    b = tl.load(a_ptr + k[:, None] * 32 + k[None, :])
    tl.store(c_ptr + i[:, None] * 32 + k[None, :], tl.dot(a, b), mask=(i[:, None] < M) & (k[None, :] <= N))
