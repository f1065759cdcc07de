# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: @triton.jit needs a function, not an int
k = triton.jit(3)
