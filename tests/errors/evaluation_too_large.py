# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel of_lists --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=LISTS
# RUN: not tilewright compile %s --kernel of_joins --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=JOINS
import triton
import triton.language as tl


def doubled():
    s = "a" * 1000
    for i in range(60):
        # CHECK: :[[#@LINE+1]]:13: error: evaluation at compile time takes more than 256 MB of memory
        s = s + s
    return len(s)


def lists():
    a = [0]
    for i in range(60):
        # LISTS: :[[#@LINE+1]]:{{.*}} error: evaluation at compile time takes more than 256 MB of memory
        a = [*a, *a]
    return len(a)


def joins():
    # JOINS: :[[#@LINE+1]]:{{.*}} error: evaluation at compile time takes more than 256 MB of memory
    return len("".join(["a" * 1000000] * 1000000))


A = tl.constexpr(doubled())
B = tl.constexpr(lists())
C = tl.constexpr(joins())


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, A)


@triton.jit
def of_lists(x_ptr):
    tl.store(x_ptr, B)


@triton.jit
def of_joins(x_ptr):
    tl.store(x_ptr, C)
