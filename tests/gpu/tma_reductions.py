"""Atomic operations on tiles by TMA: one bulk reduction for a tile, if their results are unused, their order is relaxed, and the kernel changes the tensor
in no other way."""
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ttg --signature '*fp32:16,*fp32:16,"add"' | FileCheck %s --check-prefix=IR
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*fp32:16,*fp32:16,"add"' | FileCheck %s --check-prefix=ADD
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_100a --emit ptx --signature '*fp16:16,*fp16:16,"add"' | FileCheck %s --check-prefix=ADD
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_120a --emit ptx --signature '*i32:16,*i32:16,"add"' | FileCheck %s --check-prefix=ADD
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i32:16,*i32:16,"min"' | FileCheck %s --check-prefix=MIN
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*u32:16,*u32:16,"min"' | FileCheck %s --check-prefix=MIN
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*u64:16,*u64:16,"max"' | FileCheck %s --check-prefix=MAX
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i32:16,*i32:16,"xor"' | FileCheck %s --check-prefix=XOR
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*fp16:16,*fp16:16,"max"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_80 --emit ptx --signature '*fp32:16,*fp32:16,"add"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright compile %s --kernel reduce --target cuda:sm_90a --emit ptx --signature '*i32:16,*i32:16,"two"' | FileCheck %s --check-prefix=THREADS
# RUN: tilewright explain %s --kernel reduce --target cuda:sm_90a --signature '*i32:16,*i32:16,"two"' | FileCheck %s --check-prefix=TWO
# RUN: tilewright explain %s --kernel reduce --target cuda:sm_90a --signature '*i32:16,*i32:16,"max"' | FileCheck %s --check-prefix=EXPLAIN

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
def reduce(x_ptr, out_ptr, KIND: tl.constexpr):
    rows, columns = tl.arange(0, 64), tl.arange(0, 64)
    x = tl.load(x_ptr + tl.program_id(0) * 4096 + rows[:, None] * 64 + columns[None, :])
    out = tl.make_tensor_descriptor(out_ptr, [64, 64], [64, 1], [64, 64])
    if KIND == "add":
        out.atomic_add([0, 0], x)
    elif KIND == "min":
        out.atomic_min([0, 0], x)
    elif KIND == "max":
        out.atomic_max([0, 0], x)
    elif KIND == "xor":
        out.atomic_xor([0, 0], x)
    else:
        out.atomic_and([0, 0], x)
        out.atomic_or([0, 0], x)
