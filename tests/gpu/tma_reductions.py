"""Atomic operations on tiles by TMA: one bulk reduction for a tile, if their results are unused, their order is relaxed, and the kernel changes the tensor
in no other way. A kernel in which TMA prefetches nothing keeps its atomic operations."""
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ttg --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,"add"' | FileCheck %s --check-prefix=IR
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,"add"' | FileCheck %s --check-prefix=ADD
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_100a --emit ptx --signature '*bf16:16,*bf16:16,*fp16:16,i32:16,"add"' | FileCheck %s --check-prefix=ADD
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_120a --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,"add"' | FileCheck %s --check-prefix=ADD
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i8:16,*i8:16,*i32:16,i32:16,"min"' | FileCheck %s --check-prefix=MIN
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i8:16,*i8:16,*u32:16,i32:16,"min"' | FileCheck %s --check-prefix=MIN
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i8:16,*i8:16,*u64:16,i32:16,"max"' | FileCheck %s --check-prefix=MAX
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i8:16,*i8:16,*i32:16,i32:16,"xor"' | FileCheck %s --check-prefix=XOR
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,*fp16:16,i32:16,"max"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_80 --emit ptx --signature '*fp16:16,*fp16:16,*fp32:16,i32:16,"add"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i8:16,*i8:16,*i32:16,i32:16,"two"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i8:16,*i8:16,*i32:16,i32:16,"used"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright explain %s --kernel reduce --target cuda:sm_90a --signature '*i8:16,*i8:16,*i32:16,i32:16,"two"' | FileCheck %s --check-prefix=TWO
# RUN: tilewright explain %s --kernel reduce --target cuda:sm_90a --signature '*i8:16,*i8:16,*i32:16,i32:16,"max"' | FileCheck %s --check-prefix=EXPLAIN
# RUN: tilewright compile %s --kernel once --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16' | FileCheck %s --check-prefix=THREADS

import triton
import triton.language as tl


# IR: ttg.store_shared
# IR: ttg.fence_async
# IR: ttg.tma_store reduce add
# ADD-NOT: red.global
# ADD: cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
# MIN: cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.tile.bulk_group
# MAX: cp.reduce.async.bulk.tensor.2d.global.shared::cta.max.tile.bulk_group
# XOR: cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.tile.bulk_group
# THREADS-NOT: cp.reduce
# THREADS: {{atom|red}}.
# THREADS-NOT: cp.reduce
# TWO: no tensor map: the kernel changes out_ptr by different atomic operations
# EXPLAIN: 64x64 {{.*}} atomically combined with out_ptr by TMA
@triton.jit
def reduce(a_ptr, b_ptr, out_ptr, K, KIND: tl.constexpr):
    rows, columns = tl.arange(0, 64), tl.arange(0, 64)
    ACC: tl.constexpr = tl.int32 if a_ptr.dtype.element_ty == tl.int8 else tl.float32
    acc = tl.zeros((64, 64), ACC)
    for k in range(0, K, 64):
        a = tl.load(a_ptr + rows[:, None] * K + k + columns[None, :])
        b = tl.load(b_ptr + columns[None, :] * K + k + rows[:, None])
        acc = tl.dot(a, b, acc, out_dtype=ACC)
    x = acc.to(out_ptr.dtype.element_ty)
    out = tl.make_tensor_descriptor(out_ptr, [64, 64], [64, 1], [64, 64])
    if KIND == "add":
        out.atomic_add([0, 0], x)
    elif KIND == "min":
        out.atomic_min([0, 0], x)
    elif KIND == "max":
        out.atomic_max([0, 0], x)
    elif KIND == "xor":
        out.atomic_xor([0, 0], x)
    elif KIND == "used":
        at = out_ptr + rows[:, None] * 64 + columns[None, :]
        old = tl.atomic_xchg(at, x)
        tl.atomic_add(at, old, sem="relaxed")
    else:
        out.atomic_and([0, 0], x)
        out.atomic_or([0, 0], x)


@triton.jit
def once(x_ptr, out_ptr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.atomic_add(out_ptr + at, tl.load(x_ptr + at), sem="relaxed")
