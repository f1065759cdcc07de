# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel in_library --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=LIBRARY
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:8: error: triton.language has no 'zros'
    tl.zros((4,), tl.float32)


@triton.jit
def in_library(x_ptr):
    # LIBRARY: :[[#@LINE+1]]:29: error: triton.language.math has no 'tanh'
    tl.store(x_ptr, tl.math.tanh(tl.load(x_ptr)))
    # LIBRARY: help: libdevice has it: 'from triton.language.extra import libdevice', then libdevice.tanh
