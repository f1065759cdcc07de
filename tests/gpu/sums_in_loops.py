"""A loop that only loads and sums issues its loads together: PTX promises ptxas one CTA for each SM. A loop that also stores gets no promise."""
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp32:16,i32,i32:16' | FileCheck %s --check-prefix=SUMS
# RUN: tilewright compile %s --kernel doubled --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,i32,i32:16' | FileCheck %s --check-prefix=STORES

import triton
import triton.language as tl


# SUMS: .minnctapersm 1
@triton.jit
def columns(x_ptr, out_ptr, M, N):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    total = tl.zeros((32, 128), dtype=tl.float32)
    for start in range(0, M, 32):
        rows = start + tl.arange(0, 32)
        total += tl.load(x_ptr + rows[:, None] * N + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < N), other=0.0)
    tl.store(out_ptr + at, tl.sum(total, axis=0), mask=at < N)


# STORES-NOT: .minnctapersm
@triton.jit
def doubled(x_ptr, out_ptr, M, N):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    for start in range(0, M, 32):
        rows = start + tl.arange(0, 32)
        mask = (rows[:, None] < M) & (at[None, :] < N)
        offsets = rows[:, None] * N + at[None, :]
        tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)
