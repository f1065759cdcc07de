# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: bytes and text literals cannot be joined
    # CHECK: help: give both the prefix 'b', or none
    x = b'a' 'b'
