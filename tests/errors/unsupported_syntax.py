# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel rest --signature '*fp32' 2>&1 | FileCheck %s --check-prefix=REST
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:5: error: 'try' is not supported in a kernel
    try:
        pass
    except:
        pass


@triton.jit
def rest(x_ptr):
    # REST: :[[#@LINE+1]]:12: error: a target with '*' is not supported in a kernel
    first, *others = (1, 2, 3)
