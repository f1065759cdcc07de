# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


D = {"a": 1}


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: the dict has no key 'b'
    # CHECK: help: its keys are 'a'
    tl.static_print(D["b"])
