# RUN: tilewright compile %s --kernel count --signature '*i32,*fp32' --target cpu:neon --emit asm | FileCheck %s --check-prefix=LSE
# RUN: tilewright compile %s --kernel count --signature '*i32,*fp32' --target cpu:armv8 --emit asm | FileCheck %s --check-prefix=LLSC
# RUN: tilewright compile %s --kernel wait --signature '*i32,*i32,*i32' --target cpu:neon --emit asm | FileCheck %s --check-prefix=WAIT
# RUN: tilewright compile %s --kernel halves --signature '*fp16:16,*bf16:16,n=i32' --target cpu:sve256 --emit asm | FileCheck %s --check-prefix=MASK
import triton
import triton.language as tl


# From ARMv8.1 on an atomic operation is one instruction; no call finds out at run time.
# LSE-NOT: __aarch64_
# LSE: ldaddal
# LLSC-NOT: __aarch64_
# LLSC: ldaxr
@triton.jit
def count(counter, out):
    tl.atomic_add(counter, 1)
    tl.store(out, 1.0)


# The CPU may execute later loads early: an acquire fence follows a volatile load.
# WAIT: [[LOOP:.LBB[0-9]+_[0-9]+]]:
# WAIT: ldr w
# WAIT: dmb ishld
@triton.jit
def wait(out, flag, data):
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(out, tl.load(data))


# SVE masks the tail; LLVM cannot select masked loads of bf16, so they are loads of i16.
# MASK: ld1h { z{{[0-9]+}}.h }, p{{[0-9]+}}/z
# MASK: st1h { z{{[0-9]+}}.{{[hs]}} }, p{{[0-9]+}}
@triton.jit
def halves(x, y, n):
    i = tl.arange(0, 64)
    tl.store(y + i, tl.load(x + i, i < n).to(tl.bfloat16), i < n)
    tl.store(y + i, tl.load(y + i, i < n) * 2.0, i < n)
