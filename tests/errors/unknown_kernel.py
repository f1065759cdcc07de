# RUN: not tilewright compile %s --kernel other --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
# CHECK: error: there is no kernel 'other' in {{.*}}unknown_kernel.py
# CHECK: help: its kernels are k
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    pass
