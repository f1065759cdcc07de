"""An atomic operation on a tile with release semantics covers the stores of all threads: a barrier comes first if there are any. Operations that only
add up need none."""
# RUN: tilewright compile %s --kernel flags --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,y=*fp32:16,f=*i32:16,SEM="acq_rel"' | FileCheck %s --check-prefix=ORDERED
# RUN: tilewright compile %s --kernel flags --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,y=*fp32:16,f=*i32:16,SEM="release"' | FileCheck %s --check-prefix=ORDERED
# RUN: tilewright compile %s --kernel flags --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,y=*fp32:16,f=*i32:16,SEM="acquire"' | FileCheck %s --check-prefix=FREE
# RUN: tilewright compile %s --kernel flags --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,y=*fp32:16,f=*i32:16,SEM="relaxed"' | FileCheck %s --check-prefix=FREE
# RUN: tilewright compile %s --kernel flags --target cuda:sm_90a --num-ctas 2 --emit ptx --signature 'x=*fp32:16,y=*fp32:16,f=*i32:16,SEM="acq_rel"' | FileCheck %s --check-prefix=CLUSTER
# RUN: tilewright compile %s --kernel in_place --target cuda:sm_90a --emit ptx --signature 'y=*fp32:16,f=*i32:16' | FileCheck %s --check-prefix=IN-PLACE
# RUN: tilewright compile %s --kernel two_sums --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,y=*fp32:16,f=*fp32:16' | FileCheck %s --check-prefix=TWO
# RUN: tilewright compile %s --kernel sums --target cuda:sm_90a --emit ptx --signature 'x=*fp32:16,y=*fp32:16,n=i32' | FileCheck %s --check-prefix=FREE
# RUN: tilewright compile %s --kernel tma --target cuda:sm_90a --emit ptx --signature 'x=*fp16:16,y=*fp16:16,f=*i32:16,K=i32:16' | FileCheck %s --check-prefix=TMA
# RUN: tilewright run %s --kernel flags --arg 'x=randn:f32[512]' --arg 'y=empty:f32[512]' --arg 'f=zeros:i32[512]' --arg SEM='"acq_rel"' --grid 2 --simulate --out y=%t.npy
# RUN: tilewright run %s --kernel flags --arg 'x=randn:f32[512]' --arg 'y=empty:f32[512]' --arg 'f=zeros:i32[512]' --arg SEM='"acq_rel"' --grid 2 --check y=%t.npy

import triton
import triton.language as tl


# ORDERED: st.global
# ORDERED: bar.sync 0
# ORDERED: fence.acq_rel.gpu
# ORDERED: atom.global.gpu.relaxed.exch
# FREE-NOT: bar.sync
# FREE: {{atom|red}}.global
# FREE-NOT: bar.sync
# CLUSTER: st.global
# CLUSTER: barrier.cluster.arrive
# CLUSTER: barrier.cluster.wait
# CLUSTER: atom.global.gpu
@triton.jit
def flags(x, y, f, SEM: tl.constexpr):
    i = tl.program_id(0) * 256 + tl.arange(0, 256)
    tl.store(y + i, tl.load(x + i))
    tl.atomic_xchg(f + i, 1, sem=SEM)


# The flag says that the program has read memory which it also writes.
# IN-PLACE: st.global
# IN-PLACE: bar.sync 0
# IN-PLACE: ld.global
# IN-PLACE: bar.sync 0
# IN-PLACE: atom.global.gpu.relaxed.exch
@triton.jit
def in_place(y, f):
    i = tl.arange(0, 256)
    tl.store(y + i, 1.0)
    tl.debug_barrier()
    tl.atomic_xchg(f + i, (tl.load(y + i + 256) > 1.0).to(tl.int32))


# TWO: atom.global
# TWO: bar.sync 0
# TWO: atom.global
@triton.jit
def two_sums(x, y, f):
    i = tl.arange(0, 256)
    v = tl.load(x + i)
    tl.atomic_add(y + i, v)
    tl.atomic_add(f + i, v)


@triton.jit
def sums(x, y, n):
    i = tl.arange(0, 256)
    for start in range(0, n, 256):
        tl.atomic_add(y + i, tl.load(x + start + i))


# One thread has started the TMA store.
# TMA: cp.async.bulk.tensor.2d.global
# TMA: cp.async.bulk.wait_group 0
# TMA: bar.sync 0
# TMA: atom.global
@triton.jit
def tma(x, y, f, K):
    i = tl.arange(0, 128)
    a = tl.make_tensor_descriptor(x, [128, K], [K, 1], [128, 64])
    b = tl.make_tensor_descriptor(x, [128, K], [K, 1], [128, 64])
    c = tl.make_tensor_descriptor(y, [128, 128], [128, 1], [128, 128])
    total = tl.zeros((128, 128), tl.float32)
    for k in range(0, K, 64):
        total = tl.dot(a.load([0, k]), b.load([0, k]).T, total)
    c.store([0, 0], total.to(tl.float16))
    tl.atomic_xchg(f + i, 1)
