# RUN: not tilewright compile %s --kernel newer --signature 'x_ptr=*fp32' --emit tt 2>&1 | FileCheck %s
# RUN: tilewright compile %s --signature 'x_ptr=*fp32' --emit tt | FileCheck %s --check-prefix=ALONE
import math
import triton
import triton.language as tl

if hasattr(math, "no_such_function"):
    # CHECK: :[[#@LINE+3]]:9: error: there is no kernel 'newer' in {{.*}}kernel_left_out.py
    # CHECK: help: the file defines it under an 'if' or a 'try'
    @triton.jit
    def newer(x_ptr):
        tl.store(x_ptr, 1.0)


# ALONE: tt.func public @k(
@triton.jit
def k(x_ptr):
    tl.store(x_ptr, 2.0)
