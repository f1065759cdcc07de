# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:14: error: tl.static_range unrolls 10000000 iterations, but at most 65536 are allowed
    for i in tl.static_range(10000000):
        pass
