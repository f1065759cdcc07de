"""The PTX and explain list the launch guards of maps. If no launch can check a condition, there is no map."""
# RUN: tilewright compile %s --kernel shifted --target cuda:sm_90a --emit ptx --signature 'x=*fp16:16,w=*fp16:16,o=*fp32:16,shift=i32:16,n=i32:16,stride=i32:16' | FileCheck %s --check-prefix=SHIFT
# RUN: tilewright explain %s --kernel shifted --target cuda:sm_90a --signature 'x=*fp16:16,w=*fp16:16,o=*fp32:16,shift=i32:16,n=i32:16,stride=i32:16' | FileCheck %s --check-prefix=EXPLAIN
# RUN: tilewright compile %s --kernel loaded --target cuda:sm_90a --emit ttg --signature 'x=*fp16:16,o=*fp32:16,p=*i32' | FileCheck %s --check-prefix=LOADED
# RUN: tilewright compile %s --kernel widened --target cuda:sm_90a --emit ttg --signature 'x=*fp16:16,w=*fp16:16,o=*fp32:16,a=i32,stride=i32:16' | FileCheck %s --check-prefix=WIDE
# RUN: tilewright compile %s --kernel in_condition --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,o=*i32' | FileCheck %s --check-prefix=CONDITION
# RUN: tilewright compile %s --kernel group_values --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16,i32:16' | FileCheck %s --check-prefix=VALUES
# RUN: tilewright compile %s --kernel group_addresses --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16,i32:16' | FileCheck %s --check-prefix=ADDRESSES

import triton
import triton.language as tl

# The store's mask begins at 0, but the hardware cannot store before its tensor: neither the shift nor the stride may be negative.
# SHIFT-DAG: // assumes: stride >= 0
# SHIFT-DAG: // assumes: shift >= 0
# SHIFT-DAG: // assumes: x and o do not overlap
# SHIFT: .version
# SHIFT: cp.async.bulk.tensor.2d.shared
# SHIFT: cp.async.bulk.tensor.2d.global
# EXPLAIN: Assumed, and checked at every launch
# EXPLAIN: stride >= 0


@triton.jit
def shifted(x, w, o, shift, n, stride):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    c = k + shift
    total = tl.zeros((64, 64), tl.float32)
    for i in range(0, 4):
        v = tl.load(x + r[:, None] * stride + (64 * i + k)[None, :])
        total = tl.dot(v, tl.load(w + (64 * i + k)[:, None] * 64 + k[None, :]), total)
    tl.store(o + r[:, None] * 64 + c[None, :], total, mask=(c[None, :] >= 0) & (c[None, :] < n))


@triton.jit
def loaded(x, o, p):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    start = tl.load(p)
    # LOADED: text = "no tensor map: an index may leave the range of its 32 bits: (a loaded value) + i1"
    v = tl.dot(tl.load(x + r[:, None] * 64 + (k + start)[None, :]), tl.load(x + r[:, None] * 64 + k[None, :])).to(tl.float16)
    # Loaded columns are signed, and the mask has a lower bound, which becomes the map's.
    c = k + start.to(tl.int64)
    for i in range(0, 4):
        v = tl.dot(v, tl.load(x + r[:, None] * 64 + c[None, :], mask=((c >= 0) & (c < 64))[None, :], other=0.0)).to(tl.float16)
    # Without a mask the kernel would read negative rows, which a map does not have.
    # LOADED: text = "no tensor map: its start in dimension 0 may be negative"
    at = start.to(tl.int64) + r
    ww = tl.load(x + at[:, None] * 64 + k[None, :])
    # LOADED: text = "no tensor map: its tile may start before the tensor"
    # LOADED: arith.maxsi
    # LOADED: arith.minsi
    # LOADED: ttg.tma_load
    tl.store(o + at[:, None] * 64 + k[None, :], tl.dot(v, ww), mask=((at >= 0) & (at < 64))[:, None])


@triton.jit
def widened(x, w, o, a, stride):
    r, k = tl.arange(0, 64), tl.arange(0, 64)
    # Narrow arithmetic that may wrap around differs from wide arithmetic.
    # WIDE: text = "no tensor map: an index may leave the range of its 8 bits: a + i1"
    c = (k.to(tl.uint8) + a.to(tl.uint8)).to(tl.int32)
    v = tl.load(x + r[:, None] * 256 + c[None, :])
    # 64-bit arithmetic does not wrap around, so no guard is needed.
    # WIDE: ttg.tma_load
    total = tl.zeros((64, 64), tl.float32)
    for i in range(0, 4):
        ww = tl.load(w + (tl.program_id(0).to(tl.int64) * 64 + k)[:, None] * stride + (64 * i + k)[None, :])
        total = tl.dot(v, ww, total)
    tl.store(o + r[:, None] * 64 + k[None, :], total)


@triton.jit
def in_condition(a, o):
    r = tl.arange(0, 64)
    i = 0
    # The condition of a loop carries the parity of its barrier on.
    # CONDITION: scf.while
    # CONDITION: ttg.tma_load
    # CONDITION: ttg.barrier_wait %{{.*}}, %[[PARITY:.*]] :
    # CONDITION: %[[NEXT:.*]] = arith.xori %[[PARITY]], %
    # CONDITION: scf.condition(%{{.*}}) %{{.*}}, %[[NEXT]] : i32, i32
    while tl.sum(tl.sum(tl.dot(tl.load(a + (i * 64 + r)[:, None] * 64 + r[None, :]), tl.load(a + r[:, None] * 64 + r[None, :])), 1), 0) > 0:
        i += 1
    tl.store(o, i)


# Only for addresses and masks does it matter that a quotient's groups begin at multiples of 16.
# VALUES-NOT: assumes: {{.*}}>= 0
# VALUES: .version
@triton.jit
def group_values(x, y, n):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    group = (i + n) // 16 % 2
    tl.store(y + i, group.to(tl.float32) * tl.load(x + i))


# ADDRESSES: assumes: n + 1024*program_id(0) + i0 >= 0
@triton.jit
def group_addresses(x, y, n):
    i = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    tl.store(y + i, tl.load(x + (i + n) // 16))
