# RUN: not tilewright run %s --kernel k --grid 1 --arg n=3 --debug 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(n):
    # CHECK: device_assert.py:[[#@LINE+1]]:{{.*}}n is too small
    tl.device_assert(n > 4, "n is too small")
