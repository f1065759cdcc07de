# RUN: not tilewright compile %s 2>&1 | FileCheck %s
# CHECK: error: '{{.*}}invalid_option.py' has several kernels: first, second
# CHECK: help: choose one with --kernel NAME
import triton
import triton.language as tl


@triton.jit
def first():
    pass


@triton.jit
def second():
    pass
