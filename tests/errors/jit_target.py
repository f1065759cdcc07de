# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel unnamed --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=UNNAMED
import triton
import triton.language as tl

# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: @triton.jit needs a function, not an int
k = triton.jit(3)
# UNNAMED: :[[#@LINE+1]]:22: error: @triton.jit needs a function, not the function '<lambda>'
unnamed = triton.jit(lambda x_ptr: 1)
