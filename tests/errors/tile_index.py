# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel pointer --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=POINTER
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:26: error: unsupported tensor index: <['16'], int32> can only be indexed with ':' and None
    x = tl.arange(0, 16)[3]


@triton.jit
def pointer(x_ptr):
    # POINTER: :[[#@LINE+2]]:15: error: unsupported tensor index: pointer<fp32> can only be indexed with ':' and None
    # POINTER: help: tl.load(pointer + offsets) reads, and tl.store(pointer + offsets, value) writes
    x = x_ptr[tl.program_id(0)]
