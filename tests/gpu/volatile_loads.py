"""A load of memory that another program may store to at the same time has one result for all threads that hold it: one thread loads and broadcasts
it. Threads with separate loads could leave a loop at different iterations, and wait at different barriers."""
# RUN: tilewright compile %s --kernel lookback --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,HOW="volatile"' | FileCheck %s --check-prefixes=SCALAR,VOLATILE
# RUN: tilewright compile %s --kernel lookback --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,HOW="uncached"' | FileCheck %s --check-prefixes=SCALAR,UNCACHED
# RUN: tilewright compile %s --kernel lookback --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,HOW="masked"' | FileCheck %s --check-prefixes=SCALAR,VOLATILE
# RUN: tilewright compile %s --kernel lookback --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,HOW="global"' | FileCheck %s --check-prefixes=SCALAR,GLOBAL
# RUN: tilewright compile %s --kernel lookback --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,HOW="other"' | FileCheck %s --check-prefix=OTHER
# RUN: tilewright compile %s --kernel nested --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,count=i32' | FileCheck %s --check-prefix=NESTED
# RUN: tilewright compile %s --kernel tiles --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,SIZE=32' | FileCheck %s --check-prefix=COPIES
# RUN: tilewright compile %s --kernel tiles --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32,SIZE=128' | FileCheck %s --check-prefix=NONE
# RUN: tilewright compile %s --kernel waits --target cuda:sm_90a --emit ptx --signature 'flags=*i32,out=*i32' | FileCheck %s --check-prefix=WAITS
# RUN: tilewright compile %s --kernel lookback --target cuda:sm_90a --num-ctas 2 --emit ptx --signature 'flags=*i32,out=*i32,HOW="volatile"' | FileCheck %s --check-prefix=CLUSTER

import triton
import triton.language as tl


# SCALAR: setp.eq.b32 [[FIRST:%p[0-9]+]], %r{{[0-9]+}}, 0;
# SCALAR: bra
# SCALAR: bar.sync 0
# VOLATILE: @[[ONE:%p[0-9]+]] ld.volatile.global.b32 [[FOUND:%r[0-9]+]]
# UNCACHED: @[[FIRST]] ld.global.cv.b32 [[FOUND:%r[0-9]+]]
# GLOBAL: @[[FIRST]] ld.global.cg.b32 [[FOUND:%r[0-9]+]]
# SCALAR-NOT: bar.sync
# SCALAR: @[[FIRST]] st.shared.b32 [{{.*}}], [[FOUND]];
# SCALAR: bar.sync 0
# SCALAR: ld.shared.b32
# SCALAR-NOT: bar.sync
# Nothing stores to the memory that this load reads.
# OTHER-NOT: st.shared
# CLUSTER: ld.volatile.global.b32
# CLUSTER: st.shared.b32
# CLUSTER: bar.sync 0
# CLUSTER: barrier.cluster.wait
# CLUSTER: ld.shared::cluster
@triton.jit
def lookback(flags, out, HOW: tl.constexpr):
    pid = tl.program_id(0)
    if HOW != "other":
        tl.store(flags + pid, 1)
    total = 0
    at = pid - 1
    while at >= 0:
        if HOW == "volatile":
            flag = tl.load(flags + at, volatile=True)
        elif HOW == "uncached":
            flag = tl.load(flags + at, cache_modifier=".cv")
        elif HOW == "masked":
            flag = tl.load(flags + at, mask=at < 100, other=3, volatile=True)
        else:
            flag = tl.load(flags + at, cache_modifier=".cg")
        total += flag
        at = tl.where(flag == 2, -1, at - 1)
    tl.store(out + pid, total)


# The loop around the load repeats it, too.
# NESTED: @[[FIRST:%p[0-9]+]] ld.global.b32 [[FOUND:%r[0-9]+]]
# NESTED: @[[FIRST]] st.shared.b32 [{{.*}}], [[FOUND]];
# NESTED: bar.sync 0
# NESTED: ld.shared.b32
@triton.jit
def nested(flags, out, count):
    tl.store(flags + tl.program_id(0), 1)
    seen = 0
    while seen < count:
        seen = 0
        for i in range(count):
            seen += tl.load(flags + i)
    tl.store(out, seen)


# Each of four warps holds the tile: the first one loads it.
# COPIES: @%{{p[0-9]+}} ld.volatile.global.b32
# COPIES: bar.sync 0
# COPIES: @%{{p[0-9]+}} st.shared.b32
# COPIES: bar.sync 0
# COPIES: ld.shared.b32
# NONE: {{^[[:space:]]*}}ld.volatile.global.b32
# NONE-NOT: @{{.*}} ld.volatile
@triton.jit
def tiles(flags, out, SIZE: tl.constexpr):
    seen = 0
    while seen < 10:
        seen = tl.sum(tl.load(flags + tl.arange(0, SIZE), volatile=True))
    tl.store(out, seen)


# One thread waits for all.
# WAITS-NOT: bar.sync
# WAITS: ld.volatile.global.b32
# WAITS-NOT: bar.sync
# WAITS: bra
# WAITS: bar.sync 0
# WAITS-NOT: bar.sync
@triton.jit
def waits(flags, out):
    while tl.load(flags, volatile=True) == 0:
        pass
    tl.store(out, tl.load(flags + 1))
