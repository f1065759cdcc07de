# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel missing --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=MISSING
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:25: error: 'torch' is host code (torch), which a kernel cannot use
    x = tl.zeros((16,), torch.float16)


@triton.jit
def missing(x_ptr):
    # MISSING: :[[#@LINE+2]]:33: error: name 'float32' is not defined
    # MISSING: help: write tl.float32
    x = tl.load(x_ptr).to(dtype=float32)
