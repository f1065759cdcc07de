# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

# CHECK: :[[#@LINE+1]]:5: error: cdiv() needs two numbers
X = triton.cdiv(8)


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, X)
