# RUN: tilewright compile %s --target cuda:sm_90a --emit ptx --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,out_ptr=*fp16:16,n=i32' | FileCheck %s
# RUN: tilewright run %s --simulate --grid 1 --arg a_ptr=arange:f16[16384] --arg b_ptr=zeros:f16[4096] --arg out_ptr=ones:f16[4096] --arg n=4 --print out_ptr | FileCheck %s --check-prefix=LAST
#
# TMA does not order two stores of one thread. In a loop that stores to one address repeatedly, the previous store has written its data, and not only
# read it, before the next one starts. Before its buffer is refilled, it must only have read it.
# CHECK: cp.async.bulk.wait_group 0;
# CHECK: cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group
# CHECK: cp.async.bulk.commit_group
# CHECK: cp.async.bulk.wait_group.read 0;
# LAST: min 0, max 0
import triton
import triton.language as tl


@triton.jit
def last_kernel(a_ptr, b_ptr, out_ptr, n):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    b = tl.load(b_ptr + at)
    for i in range(n):
        a = tl.load(a_ptr + i * 4096 + at)
        tl.store(out_ptr + at, tl.dot(a, b).to(tl.float16))
