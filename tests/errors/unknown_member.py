# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl

# CHECK: :[[#@LINE+1]]:12: error: the module triton has no 'next_power_of_3'
X = triton.next_power_of_3(8)
# CHECK: help: did you mean 'next_power_of_2'


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, X)
