# RUN: not tilewright compile %s --signature '*fp32' --target cuda:sm_89 --emit ptx --num-ctas 2 2>&1 | FileCheck %s
# CHECK: error: num_ctas is 2, but sm_89 has no clusters of CTAs
# CHECK: help: use num_ctas=1, or compile for a GPU with clusters
import triton
import triton.language as tl


@triton.jit
def k(x):
    tl.store(x + tl.arange(0, 64), 1.0)
