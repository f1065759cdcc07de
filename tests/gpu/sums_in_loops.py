"""A loop that only loads and sums issues its loads together: PTX promises ptxas one CTA for each SM. A loop that also stores gets no promise,
but ptxas may run again for two CTAs per SM. A kernel with MMAs has one CTA for each SM."""
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp32:16,i32,i32:16' | FileCheck %s --check-prefix=SUMS
# RUN: tilewright compile %s --kernel doubled --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,i32,i32:16' | FileCheck %s --check-prefix=STORES
# RUN: tilewright compile %s --kernel columns --target cuda:sm_90a --until choose-occupancy --signature '*fp16:16,*fp32:16,i32,i32:16' | FileCheck %s --check-prefix=SUMS-CHOICE
# RUN: tilewright compile %s --kernel doubled --target cuda:sm_90a --until choose-occupancy --signature '*fp16:16,*fp16:16,i32,i32:16' | FileCheck %s --check-prefix=STORES-CHOICE
# RUN: tilewright compile %s --kernel gamma --target cuda:sm_90a --until choose-occupancy --signature '*fp16:16,*fp16:16' | FileCheck %s --check-prefix=STORES-CHOICE
# RUN: tilewright compile %s --kernel multiplied --target cuda:sm_80 --until choose-occupancy --signature '*fp16:16,*fp16:16' | FileCheck %s --check-prefix=MMA-CHOICE
# RUN: tilewright compile %s --kernel multiplied --target cuda:sm_90a --until choose-occupancy --signature '*fp16:16,*fp16:16' | FileCheck %s --check-prefix=WGMMA-CHOICE
# SUMS-CHOICE: #ptx.kernel<threads = 128, sharedBytes = {{[0-9]+}}, minCtas = 1>
# STORES-CHOICE: #ptx.kernel<threads = 128, sharedBytes = 0, tryMoreCtas = true>
# MMA-CHOICE: #ptx.kernel<threads = 128, sharedBytes = {{[0-9]+}}>
# WGMMA-CHOICE: #ptx.kernel<threads = 128, sharedBytes = {{[0-9]+}}, minCtas = 1>

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


# Only instructions count, not names.
@triton.jit
def gamma(gamma_ptr, out_ptr):
    at = tl.arange(0, 128)
    tl.store(out_ptr + at, tl.load(gamma_ptr + at))


@triton.jit
def multiplied(x_ptr, out_ptr):
    at = tl.arange(0, 64)
    x = tl.load(x_ptr + at[:, None] * 64 + at[None, :])
    tl.store(out_ptr + at[:, None] * 64 + at[None, :], tl.dot(x, x).to(tl.float16))
