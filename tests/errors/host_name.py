# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import torch
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:25: error: 'torch' is host code (torch), which a kernel cannot use
    x = tl.zeros((16,), torch.float16)
