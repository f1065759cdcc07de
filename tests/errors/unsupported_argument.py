# RUN: not tilewright run %s --kernel k --grid 1 --arg "n='relu'" 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+1]]:7: error: parameter 'n' cannot take a string at run time
def k(n):
    # CHECK: help: declare it as 'n: tl.constexpr'
    pass
