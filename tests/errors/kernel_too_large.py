# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel of_calls --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=CALLS
# RUN: not tilewright compile %s --kernel of_empty_loops --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=EMPTY
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:{{.*}} error: this kernel has more than 262144 operations after this loop is unrolled
    for i in tl.static_range(1000):
        for j in tl.static_range(1000):
            tl.store(x_ptr + i, tl.load(x_ptr + j))


@triton.jit
def twice(x, N: tl.constexpr):
    if N == 0:
        return x * 1.5
    # CALLS: :[[#@LINE+1]]:{{.*}} error: this kernel has more than 262144 operations after this statement is added and calls are inlined
    return twice(twice(x, N - 1), N - 1)


@triton.jit
def of_calls(x_ptr):
    tl.store(x_ptr, twice(tl.load(x_ptr), 30))


@triton.jit
def of_empty_loops(x_ptr):
    # EMPTY: :[[#@LINE+1]]:{{.*}} error: evaluation at compile time takes more than {{[0-9]+}} steps
    for i in tl.static_range(1000):
        for j in tl.static_range(1000):
            for m in tl.static_range(1000):
                pass
