# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.jit
def k(x_ptr):
    # CHECK: :[[#@LINE+1]]:9: error: fp_downcast_rounding does not apply to int32 to fp16
    x = tl.arange(0, 16).to(tl.float16, fp_downcast_rounding="rtz")
