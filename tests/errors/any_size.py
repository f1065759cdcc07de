# RUN: not tilewright compile %s --kernel k --signature '*i32' --emit obj -o %t.o 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit(any_size=True)
def k(x):
    i = tl.arange(0, 24)
    # CHECK: :[[#@LINE+1]]:5: error: 'tt.atomic_cas' does not support a tile of tensor<24x!tt.ptr<i32>>, which has a size that is not a power of 2
    tl.atomic_cas(x + i, i, i)
