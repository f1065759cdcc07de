# At compile time a generator is the list of its values, so next() of a stored one is left to host code: the second call would repeat the first.
# RUN: not tilewright compile %s --signature '*i32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

SIZES = (2**i for i in range(4))
SMALL = next(SIZES)
LARGER = next(SIZES)
DIRECT = next(2**i for i in range(4) if i > 1)


@triton.jit
def k(out):
    tl.static_assert(DIRECT == 4)
    # CHECK: :[[#@LINE+1]]:19: error: 'LARGER' is host code (next() of a stored generator), which a kernel cannot use
    tl.store(out, LARGER)
