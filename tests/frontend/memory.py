# RUN: tilewright compile %s --kernel k --signature '*fp32, *i1, *i32, i32' --emit tt | FileCheck %s
# Masks, padding, booleans as bytes, block pointers, atomics on floats by their bits.
import triton
import triton.language as tl
from triton.language.extra import libdevice


# CHECK-LABEL: tt.func public @k(
@triton.jit
def k(x_ptr, b_ptr, i_ptr, n):
    offs = tl.arange(0, 64)
    # CHECK: tt.bitcast {{.*}}!tt.ptr<i1>{{.*}} -> {{.*}}!tt.ptr<i8>
    keep = tl.load(b_ptr + offs, mask=offs < n, other=False)
    # CHECK: tt.load {{.*}}cacheModifier = cg evictionPolicy = evict_last {isVolatile = true}
    x = tl.load(x_ptr + offs, mask=keep, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    # CHECK: tt.make_tensor_ptr
    p = tl.make_block_ptr(x_ptr, (n, n), (n, 1), (0, 0), (8, 16), (1, 0))
    # CHECK: tt.load {{.*}}boundaryCheck = array<i32: 0, 1>
    t = tl.load(p, boundary_check=(1, 0), padding_option="zero")
    # CHECK: tt.advance
    tl.store(tl.advance(p, (8, 0)), t, boundary_check=(0,))
    # CHECK: tt.atomic_rmw max, acq_rel, gpu
    # CHECK: tt.atomic_rmw umin, acq_rel, gpu
    tl.atomic_max(x_ptr + offs, x)
    # CHECK: tt.atomic_rmw add, relaxed, sys
    tl.atomic_add(i_ptr + offs, 1, sem="relaxed", scope="sys")
    # CHECK: tt.atomic_cas acquire, gpu
    tl.atomic_cas(i_ptr, 0, 1, sem="acquire")
