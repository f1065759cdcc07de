# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
# CHECK: error: 'k' is an int, not a kernel
# CHECK: help: mark it with @triton.jit
import triton
import triton.language as tl


k = 3
