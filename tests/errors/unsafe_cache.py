# RUN: rm -rf %t && mkdir %t && chmod 777 %t
# RUN: env TILEWRIGHT_CACHE_DIR=%t tilewright run %s --grid 1 --arg x_ptr=zeros:f32[1] --print x_ptr 2>&1 | FileCheck %s
# CHECK: warning: the compiler does not use the cache folder '{{.*}}': other users may write to it
# CHECK: help: set TILEWRIGHT_CACHE_DIR to a folder that only you can write to, or set TILEWRIGHT_CACHE=0
# CHECK: x_ptr: {{.*}}1
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, 1.0)
