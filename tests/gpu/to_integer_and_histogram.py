"""Conversions to integers saturate: one instruction, and a select where it does not turn NaN into 0. Histograms count in shared memory."""
# RUN: tilewright compile %s --kernel converted --signature '*fp32:16, *i32:16' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=WORD
# RUN: tilewright compile %s --kernel converted --signature '*fp16:16, *i8:16' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=BYTE
# RUN: tilewright compile %s --kernel converted --signature '*fp32:16, *u8:16' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=UNSIGNED
# RUN: tilewright compile %s --kernel converted --signature '*fp64:16, *i64:16' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=LONG
# RUN: tilewright compile %s --kernel converted --signature '*fp32:16, *i1' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=FLAG
# RUN: tilewright compile %s --kernel counted --signature '*i32:16, *i32:16' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=COUNTED

import triton
import triton.language as tl


# WORD: cvt.rzi.s32.f32
# WORD-NOT: setp
# BYTE: cvt.rzi.s8.f32
# UNSIGNED: cvt.rzi.u8.f32
# LONG: cvt.rzi.s64.f64
# LONG: setp
# LONG: selp
# FLAG: setp
@triton.jit
def converted(x_ptr, out_ptr):
    i = tl.arange(0, 128)
    tl.store(out_ptr + i, tl.load(x_ptr + i).to(out_ptr.dtype.element_ty))


# COUNTED: red.shared.add.u32
@triton.jit
def counted(x_ptr, out_ptr):
    i = tl.arange(0, 128)
    tl.store(out_ptr + i, tl.histogram(tl.load(x_ptr + i), 128))
