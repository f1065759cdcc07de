# RUN: not tilewright run %s --kernel k --grid 1 --arg n=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+1]]:7: error: parameter 'n' is a constexpr and cannot take a pointer to fp32
def k(n: tl.constexpr):
    # CHECK: help: remove its annotation tl.constexpr
    pass
