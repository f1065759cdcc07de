# RUN: not tilewright compile %s --signature 'x_ptr=*fp99' 2>&1 | FileCheck %s
# CHECK: <signature>:1:7: error: signature: '*fp99' is neither a type nor a constant
# CHECK: ^~~~~
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    pass
