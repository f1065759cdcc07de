"""Several stores to one tensor use tensor maps if no two of them write to one address. They have a distance, which may depend on the CTA, or they are
in two branches, of which a program takes one."""
# RUN: tilewright compile %s --kernel parts --target cuda:sm_90a --emit ttg --num-ctas 2 --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16' | FileCheck %s
# RUN: tilewright compile %s --kernel branches --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,False' | FileCheck %s
# RUN: tilewright explain %s --kernel branches --target cuda:sm_90a --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,True' | FileCheck %s --check-prefix=LOOP
# RUN: tilewright compile %s --kernel without_loop --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,i32:16' | FileCheck %s --check-prefix=THREADS

# CHECK-NOT: tt.store
# CHECK: ttg.tma_store
# CHECK: ttg.tma_store
# CHECK-NOT: tt.store

import triton
import triton.language as tl


@triton.jit
def part(a, b, c, row, k, s, M: tl.constexpr):
    m, n, i = row + tl.arange(0, M), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((M, 64), tl.float32)
    for start in range(0, k, 64):
        x = tl.load(a + m[:, None] * k + start + i[None, :])
        acc = tl.dot(x, tl.load(b + (start + i)[:, None] * 64 + n[None, :]), acc)
    tl.store(c + m[:, None] * s + n[None, :], acc.to(tl.float16), mask=(m[:, None] < s) & (n[None, :] < s))


@triton.jit
def parts(a, b, c, k, s):
    first, second = tl.arange(0, 256), 256 + tl.arange(0, 128)
    n, i = tl.arange(0, 64), tl.arange(0, 64)
    above, below = tl.zeros((256, 64), tl.float32), tl.zeros((128, 64), tl.float32)
    for start in range(0, k, 64):
        y = tl.load(b + (start + i)[:, None] * 64 + n[None, :])
        above = tl.dot(tl.load(a + first[:, None] * k + start + i[None, :]), y, above)
        below = tl.dot(tl.load(a + second[:, None] * k + start + i[None, :]), y, below)
    tl.store(c + first[:, None] * s + n[None, :], above.to(tl.float16), mask=(first[:, None] < s) & (n[None, :] < s))
    tl.store(c + second[:, None] * s + n[None, :], below.to(tl.float16), mask=(second[:, None] < s) & (n[None, :] < s))


# In a loop, a program may take one branch after the other.
# LOOP: the kernel writes to c by several
@triton.jit
def branches(a, b, c, k, s, REPEATS: tl.constexpr):
    if REPEATS:
        for tile in range(4):
            if tile < tl.program_id(0):
                part(a, b, c, 0, k, s, 128)
            else:
                part(a, b, c, 0, k, s, 64)
    else:
        if tl.program_id(0) < 4:
            part(a, b, c, 0, k, s, 128)
        else:
            part(a, b, c, 0, k, s, 64)


# Threads store the tiles, because no loop prefetches any. So the kernel does not assume that rows are disjoint.
# THREADS-NOT: assumes: s >= 0
# THREADS: .visible
@triton.jit
def without_loop(a, b, c, s):
    first, second = tl.arange(0, 128), 128 + tl.arange(0, 128)
    n, i = tl.arange(0, 64), tl.arange(0, 64)
    y = tl.load(b + i[:, None] * 64 + n[None, :])
    above = tl.dot(tl.load(a + first[:, None] * 64 + i[None, :]), y)
    below = tl.dot(tl.load(a + second[:, None] * 64 + i[None, :]), y)
    tl.store(c + first[:, None] * s + n[None, :], above.to(tl.float16), mask=(first[:, None] < s) & (n[None, :] < s))
    tl.store(c + second[:, None] * s + n[None, :], below.to(tl.float16), mask=(second[:, None] < s) & (n[None, :] < s))
