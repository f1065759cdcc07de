# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel of_pairs --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=PAIRS
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    a = (1, 1)
    for i in tl.static_range(40):
        # CHECK: :[[#@LINE+1]]:13: error: a tuple of more than 65536 items is too long for a kernel
        a = a + a


@triton.jit
def of_pairs(x_ptr):
    a = (1, 1)
    for i in tl.static_range(40):
        # PAIRS: :[[#@LINE+1]]:13: error: a tuple of more than 65536 items is too long for a kernel
        a = (a, a)
