# RUN: not tilewright compile %s --kernel k --signature '*i32' --emit obj -o %t.o 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel pairs --signature '*i32' --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=PAIRS
# RUN: tilewright compile %s --kernel quarters --signature '*i32' --emit obj -o %t.o
import triton
import triton.language as tl


@triton.jit(any_size=True)
def k(x):
    i = tl.arange(0, 24)
    # CHECK: :[[#@LINE+1]]:5: error: 'tt.atomic_cas' does not support a tile of tensor<24x!tt.ptr<i32>>, which has a size that is not a power of 2
    tl.atomic_cas(x + i, i, i)


@triton.jit
def swap(a, b):
    return b, a


# The groups of two elements go over the ends of rows, which padding moves apart.
@triton.jit(any_size=True)
def pairs(x):
    at = x + tl.arange(0, 2)[:, None] * 3 + tl.arange(0, 3)[None, :]
    # PAIRS: :[[#@LINE+1]]:18: error: 'tt.map_elementwise' does not support a tile of tensor<2x3xi32>
    tl.store(at, tl.map_elementwise(swap, tl.load(at), pack=2)[0])


@triton.jit(any_size=True)
def quarters(x):
    at = x + tl.arange(0, 3)[:, None] * 6 + tl.arange(0, 6)[None, :]
    tl.store(at, tl.map_elementwise(swap, tl.load(at), pack=2)[0])
