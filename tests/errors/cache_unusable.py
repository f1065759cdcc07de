# RUN: env TILEWRIGHT_CACHE_DIR=/dev/null/cache tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[1] 2>&1 | FileCheck %s
# CHECK: warning: cannot write to the cache folder '/dev/null/cache': Not a directory
# CHECK: help: set TILEWRIGHT_CACHE_DIR to a writable folder, or set TILEWRIGHT_CACHE=0
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    tl.store(x_ptr, 1.0)
