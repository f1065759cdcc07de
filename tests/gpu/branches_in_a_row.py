# The accesses since the last barrier are recorded once, for any number of consecutive branches.
# RUN: tilewright compile %s --target cuda:sm_90a --emit threads --signature 'p=*i32:16, q=*i32:16, n=i32' | FileCheck %s
import triton
import triton.language as tl


# CHECK-LABEL: tt.func @count
# CHECK-COUNT-40: scf.if
@triton.jit
def count(p, q, n):
    block = tl.arange(0, 64)
    counts = tl.zeros((64,), dtype=tl.int32)
    for i in tl.static_range(40):
        if i < n:
            counts += (block == tl.load(q + i)).to(tl.int32)
    tl.store(p + block, counts)
