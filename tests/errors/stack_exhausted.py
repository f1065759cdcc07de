# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel of_circles --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=CIRCLES
# RUN: not tilewright compile %s --kernel of_depth --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=DEPTH
# RUN: not tilewright compile %s --kernel of_a_circle --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=CIRCLE
# RUN: tilewright compile %s --kernel of_no_depth --signature '*fp32' -o %t.o
import triton
import triton.language as tl


def recursive(n):
    # CHECK: :[[#@LINE+1]]:{{.*}} error: this is nested too deeply for the stack of the compiling thread
    return ----------------------------------------------------------------------------------------------------recursive(n + 1)


def circle():
    a = []
    b = [a]
    a.append(b)
    return a


def compared():
    # CIRCLES: :[[#@LINE+1]]:{{.*}} error: this is nested too deeply for the stack of the compiling thread
    return circle() < circle()


def deep(levels):
    a = None
    for i in range(levels):
        a = [a]
    return a


A = tl.constexpr(recursive(0))
B = tl.constexpr(compared())
# DEPTH: :[[#@LINE+1]]:{{.*}} error: this is nested too deeply for the stack of the compiling thread
C = tl.constexpr(deep(100000) == deep(100000))
D = tl.constexpr(len(deep(100000)))
E = circle()


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, A)


@triton.jit
def of_circles(x_ptr):
    tl.store(x_ptr, B)


@triton.jit
def of_depth(x_ptr):
    tl.store(x_ptr, C)


@triton.jit
def of_a_circle(x_ptr):
    # CIRCLE: :[[#@LINE+1]]:{{.*}} error: {{.*}}a list of more than 65536 items, or one nested too deeply
    tl.store(x_ptr, E)


@triton.jit
def of_no_depth(x_ptr):
    tl.store(x_ptr, D)
