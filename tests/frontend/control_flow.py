# RUN: tilewright compile %s --kernel k --signature '*i32, i32, i32' --emit tt | FileCheck %s
# Branches, loops and early returns become structured control flow.
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def pick(a, b, flag):
    if flag > 0:
        return a + b
    return a - b


# CHECK-LABEL: tt.func public @k(
@triton.jit
def k(x_ptr, n, flag):
    # CHECK: scf.if
    if n < 0:
        return
    x = tl.load(x_ptr)
    i = 0
    # CHECK: scf.while
    while i < n and x > 0:
        x = x - i
        i += 1
    # CHECK: scf.for
    for j in range(n, 0, -3):
        x += pick(x, j, flag)
    for u in tl.static_range(2):
        # CHECK-COUNT-3: tt.store
        # CHECK-NOT: cf.cond_br
        tl.store(x_ptr + u, x)
    tl.store(x_ptr + 2, x if flag > 1 else i)
