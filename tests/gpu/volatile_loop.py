# RUN: tilewright compile %s --signature '*i32,*i32' --target cuda:sm_90a --emit threads | FileCheck %s
import triton
import triton.language as tl


# A loop that only waits stays if its loads are volatile.
# CHECK: scf.while
# CHECK: ptx.load_global {{.*}}isVolatile
# CHECK: ptx.store_global
@triton.jit
def wait_for_a_flag(out, flag):
    while tl.load(flag, volatile=True) == 0:
        pass
    tl.store(out, 1)
