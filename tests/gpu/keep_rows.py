"""A long row of 16-bit values with two dependent reductions stays in shared memory; threads read it again after each reduction."""
# RUN: tilewright compile %s --kernel norm --target cuda:sm_90a --num-warps 4 --emit ttg --signature '*fp16:16,*fp16:16,i32:16,16384' | FileCheck %s
# RUN: tilewright compile %s --kernel norm --target cuda:sm_90a --num-warps 4 --emit ttg --signature '*fp16:16,*fp16:16,i32:16,4096' | FileCheck %s --check-prefix=HELD
# RUN: tilewright compile %s --kernel norm --target cuda:sm_90a --num-warps 4 --emit ttg --signature '*fp32:16,*fp32:16,i32:16,16384' | FileCheck %s --check-prefix=HELD
# RUN: tilewright compile %s --kernel norm --target cuda:sm_90a --num-warps 4 --emit ttg --signature '*fp16:16,*fp16:16,i32:16,65536' | FileCheck %s
# RUN: tilewright compile %s --kernel norm --target cuda:sm_86 --num-warps 4 --emit ttg --signature '*fp16:16,*fp16:16,i32:16,65536' | FileCheck %s --check-prefix=HELD
# RUN: tilewright compile %s --kernel norm --target cuda:sm_89 --num-warps 4 --emit ptx --signature '*fp16:16,*fp16:16,i32:16,65536' > /dev/null
# RUN: tilewright compile %s --kernel softmax --target cuda:sm_90a --num-warps 4 --emit ttg --signature '*fp16:16,*fp16:16,i32:16,16384' | FileCheck %s --check-prefix=HELD
# RUN: tilewright compile %s --kernel branch --target cuda:sm_90a --num-warps 4 --emit ttg --signature '*fp16:16,*fp16:16,i32:16,16384' | FileCheck %s --check-prefix=BRANCH
# RUN: tilewright explain %s --kernel norm --target cuda:sm_90a --num-warps 4 --signature '*fp16:16,*fp16:16,i32:16,16384' | FileCheck %s --check-prefix=STAGED
# RUN: tilewright explain %s --kernel norm --target cuda:sm_90a --num-warps 4 --signature '*fp16:16,*fp16:16,i32:16,4096' | FileCheck %s --check-prefix=SHORT
# RUN: tilewright explain %s --kernel norm --target cuda:sm_90a --num-warps 4 --signature '*fp32:16,*fp32:16,i32:16,16384' | FileCheck %s --check-prefix=WIDE
# RUN: tilewright explain %s --kernel norm --target cuda:sm_86 --num-warps 4 --signature '*fp16:16,*fp16:16,i32:16,65536' | FileCheck %s --check-prefix=LARGE
# RUN: tilewright explain %s --kernel norm --target cuda:sm_90a --num-warps 8 --signature '*fp16:16,*fp16:16,i32:16,65536' | FileCheck %s --check-prefix=CTAS
# RUN: tilewright explain %s --kernel softmax --target cuda:sm_90a --num-warps 4 --signature '*fp16:16,*fp16:16,i32:16,16384' | FileCheck %s --check-prefix=AGAIN
# RUN: tilewright run %s --interpret --kernel branch --grid 2 --arg 'x_ptr=randn:f16[2,16368]' --arg 'y_ptr=zeros:f16[2,16368]' --arg n=16368 --arg BLOCK=16384 --out y_ptr=%t.npy
# RUN: tilewright run %s --simulate --kernel branch --grid 2 --num-warps 4 --arg 'x_ptr=randn:f16[2,16368]' --arg 'y_ptr=zeros:f16[2,16368]' --arg n=16368 --arg BLOCK=16384 --check y_ptr=%t.npy --rtol 1e-3 --atol 1e-2

import triton
import triton.language as tl


# CHECK: ttg.copy_async {{.*}}, %[[row:[0-9]+]],
# CHECK-NEXT: ttg.copy_commit
# CHECK-NEXT: ttg.copy_wait 0
# CHECK-NEXT: ttg.load_shared %[[row]]
# CHECK: tt.reduce
# CHECK: ttg.load_shared %[[row]]
# CHECK: tt.reduce
# CHECK: ttg.load_shared %[[row]]
# CHECK: tt.store
# Rows of few registers or of 32-bit values, rows that do not fit in shared memory, and rows whose exponentials would be computed twice, stay in
# registers.
# HELD-NOT: ttg.load_shared
# HELD: tt.store
# `explain` says which, and why not.
# STAGED: num_stages 3; rows stay in shared memory between reductions
# SHORT: num_stages 3{{$}}
# WIDE: threads hold rows across reductions: 'tt.load' in line {{[0-9]+}}: not narrow elements
# LARGE: threads hold rows across reductions: they need 131088 bytes of shared memory, and a CTA has 101376
# CTAS: threads hold rows across reductions: with fewer registers, no further CTA fits on an SM
# AGAIN: threads hold rows across reductions: 'math.exp' in line {{[0-9]+}}: it would be computed again after each
@triton.jit
def norm(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + columns, mask=columns < n, other=0.0).to(tl.float32)
    centred = tl.where(columns < n, x - tl.sum(x, axis=0) / n, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / n)
    tl.store(y_ptr + tl.program_id(0) * n + columns, (centred * rstd).to(y_ptr.dtype.element_ty), mask=columns < n)


@triton.jit
def softmax(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + columns, mask=columns < n, other=0.0).to(tl.float32)
    weights = tl.exp(x - tl.max(x, axis=0))
    y = weights / tl.sum(weights, axis=0)
    tl.store(y_ptr + tl.program_id(0) * n + columns, y.to(y_ptr.dtype.element_ty), mask=columns < n)


# The copy is waited for before a branch that uses the row.
# BRANCH: ttg.copy_wait 0
# BRANCH-NEXT: ttg.load_shared
# BRANCH: scf.if
@triton.jit
def branch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.load(x_ptr + tl.program_id(0) * n + columns, mask=columns < n, other=0.0)
    largest = 1.0
    if n > 100:
        largest = tl.max(row, axis=0).to(tl.float32)
    x = row.to(tl.float32)
    centred = tl.where(columns < n, x - tl.sum(x, axis=0) / n, 0.0)
    rstd = largest / tl.sqrt(tl.sum(centred * centred, axis=0) / n)
    tl.store(y_ptr + tl.program_id(0) * n + columns, (centred * rstd).to(y_ptr.dtype.element_ty), mask=columns < n)
