# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    def __init__(self, first):
        self.first = first


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: __init__ of 'Pair' does not set its field 'second'
    p = Pair(tl.arange(0, 16))
