# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel type_called --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=TYPE
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: pointer<fp32> cannot be called
    x = x_ptr(3)


@triton.jit
def type_called(x_ptr):
    # TYPE: :[[#@LINE+1]]:9: error: tl.tensor cannot be called
    x = tl.tensor()
