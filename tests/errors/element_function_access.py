# RUN: not tilewright compile %s --kernel mapped --signature '*i32,*i32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel combined --signature '*i32,*i32' --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=REDUCE
# RUN: not tilewright run %s --kernel scanned --interpret --grid 1 --arg 'x=empty:i32[32]' --arg 'out=empty:i32[32]' 2>&1 | FileCheck %s --check-prefix=SCAN
# RUN: not tilewright compile %s --kernel waiting --signature '*i32,*i32' 2>&1 | FileCheck %s --check-prefix=VOLATILE
# RUN: tilewright compile %s --kernel loaded --signature '*i32,*i32' --emit asm -o %t
import triton
import triton.language as tl


@triton.jit
def count(p):
    # CHECK: :[[#@LINE+1]]:5: error: the function of 'tt.map_elementwise' contains 'tt.atomic_rmw', which accesses memory
    tl.atomic_add(p, 1)


@triton.jit
def counted(x, p):
    if x > 3:
        count(p)
    return x


@triton.jit
def mapped(x, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.map_elementwise(counted, tl.load(x + i), out + 0 * i))


@triton.jit
def stored(x, p, y, q):
    # REDUCE: :[[#@LINE+1]]:5: error: the function of 'tt.reduce' contains 'tt.store', which accesses memory
    tl.store(p, x)
    return x + y, p


@triton.jit
def combined(x, out):
    i = tl.arange(0, 32)
    tl.store(out, tl.reduce((tl.load(x + i), out + i), 0, stored)[0])


@triton.jit
def read(x, p, y, q):
    # SCAN: error: the function of 'tt.scan' contains 'tt.load', which accesses memory
    return x + y + tl.load(p), p


@triton.jit
def scanned(x, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.associative_scan((tl.load(x + i), x + i), 0, read)[0])


@triton.jit
def wait(x, p):
    # VOLATILE: error: the function of 'tt.map_elementwise' contains 'tt.load', which accesses memory
    # VOLATILE: help: access memory before or after; a mapped function may also load, but not by volatile loads
    return x + tl.load(p, volatile=True)


@triton.jit
def waiting(x, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.map_elementwise(wait, i, x + i))


@triton.jit
def element(x, p):
    return x + tl.load(p)


@triton.jit
def loaded(x, out):
    i = tl.arange(0, 32)
    tl.store(out + i, tl.map_elementwise(element, i, x + i))
