# RUN: not tilewright compile %s --kernel k --signature "x_ptr=*fp32" --emit tt 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
# CHECK: :[[#@LINE+2]]:{{[0-9]+}}: error: kernels cannot have the parameter '**rest'
# CHECK: help: name the parameters that the kernel takes
def k(x_ptr, **rest):
    pass
