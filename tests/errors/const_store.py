# RUN: not tilewright compile %s --kernel k --signature '*kfp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr: tl.const):
    # CHECK: :[[#@LINE+1]]:14: error: Cannot store to a constant pointer: the parameter of const_pointer<fp32> is marked tl.const
    tl.store(x_ptr, 1.0)
