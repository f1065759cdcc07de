"""The sum of a masked fp8 tile: if its tail is zero, the loop ends early. The tail's value is compared as fp32, because LLVM has no fp8."""
# RUN: env TILEWRIGHT_CPU=sse2 tilewright run %s --grid 1 --arg x=ones:fp8e5[64] --arg out=zeros:fp32[1] --arg n=4 --print out | FileCheck %s
# RUN: tilewright compile %s --signature '*fp8e4nv, *fp32, i32' --target cpu:neon --emit obj -o %t.o

import triton
import triton.language as tl


# CHECK: [4]
@triton.jit
def total(x, out, n):
    i = tl.arange(0, 64)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n, other=0)).to(tl.float32))
