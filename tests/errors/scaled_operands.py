# tl.dot_scaled refuses these operands, in upstream's words.
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 0' 2>&1 | FileCheck %s --check-prefix=CASE0
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 1' 2>&1 | FileCheck %s --check-prefix=CASE1
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 2' 2>&1 | FileCheck %s --check-prefix=CASE2
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 3' 2>&1 | FileCheck %s --check-prefix=CASE3
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 4' 2>&1 | FileCheck %s --check-prefix=CASE4
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 5' 2>&1 | FileCheck %s --check-prefix=CASE5
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 6' 2>&1 | FileCheck %s --check-prefix=CASE6
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 7' 2>&1 | FileCheck %s --check-prefix=CASE7
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 8' 2>&1 | FileCheck %s --check-prefix=CASE8
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 9' 2>&1 | FileCheck %s --check-prefix=CASE9
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 10' 2>&1 | FileCheck %s --check-prefix=CASE10
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 11' 2>&1 | FileCheck %s --check-prefix=CASE11
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, CASE: tl.constexpr):
    a = tl.zeros((32, 64), tl.uint8)
    b = tl.zeros((64, 32), tl.bfloat16)
    if CASE == 0:
        # CASE0: error: Invalid float format: e3m4.
        tl.dot_scaled(a, None, "e3m4", b, None, "bf16")
    elif CASE == 1:
        # CASE1: error: Unexpected dtype for bf16. Got uint8
        tl.dot_scaled(a, None, "bf16", b, None, "bf16")
    elif CASE == 2:
        # CASE2: error: only mxfp4 inputs can be packed along a dimension different than K
        tl.dot_scaled(a, None, "e4m3", b, None, "bf16", lhs_k_pack=False)
    elif CASE == 3:
        # CASE3: error: Both inputs must be either 2D or 3D; (lhs: [1, 32, 64] vs rhs: [64, 32])
        tl.dot_scaled(a[None, :, :], None, "e4m3", b, None, "bf16")
    elif CASE == 4:
        # CASE4: error: Reduction dimension should pack the same number of elements; (lhs: [32, 64] vs rhs: [64, 32])
        tl.dot_scaled(a, None, "e2m1", b, None, "bf16")
    elif CASE == 5:
        # CASE5: error: Both inputs must have the same number of batches; (lhs: [1, 32, 64] vs rhs: [2, 64, 32])
        tl.dot_scaled(a[None, :, :], None, "e4m3", tl.broadcast_to(b[None, :, :], (2, 64, 32)), None, "bf16")
    elif CASE == 6:
        # CASE6: error: scale factor must be 16 or 32. Got 1
        tl.dot_scaled(a, a, "e4m3", b, None, "bf16")
    elif CASE == 7:
        # CASE7: error: Operands must have the same scale factor; (lhs: 16 vs rhs: 32)
        tl.dot_scaled(a, tl.zeros((32, 4), tl.uint8), "e4m3", b, tl.zeros((32, 2), tl.uint8), "bf16")
    elif CASE == 8:
        # CASE8: error: lhs_scale must be a tensor of shape [..., 32, 2]. Got [16, 2]
        tl.dot_scaled(a, tl.zeros((16, 2), tl.uint8), "e4m3", b, None, "bf16")
    elif CASE == 9:
        # CASE9: error: scales are e8m0 as 8-bit integers, or floats
        tl.dot_scaled(a, tl.zeros((32, 2), tl.int32), "e4m3", b, None, "bf16")
    elif CASE == 10:
        # CASE10: error: expected accumulator shape [32, 32], got [32, 64]
        tl.dot_scaled(a, None, "e4m3", b, None, "bf16", tl.zeros((32, 64), tl.float32))
    elif CASE == 11:
        # CASE11: error: Only float32 is supported for out_dtype at the moment
        tl.dot_scaled(a, None, "e4m3", b, None, "bf16", out_dtype=tl.float16)
