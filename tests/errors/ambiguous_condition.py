# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:8: error: the truth of a tile with several elements (<['16'], int1>) is ambiguous
    if tl.arange(0, 16) > 0:
        pass
