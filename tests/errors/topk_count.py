# RUN: not tilewright compile %s --kernel k --signature '*fp32, 16' 2>&1 | FileCheck %s --check-prefix=CHECK_MORE
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 0' 2>&1 | FileCheck %s --check-prefix=CHECK_NONE
# RUN: not tilewright compile %s --kernel k --signature '*fp32, 3' 2>&1 | FileCheck %s --check-prefix=CHECK_ODD
# RUN: not tilewright compile %s --kernel k --signature '*fp32, -2' 2>&1 | FileCheck %s --check-prefix=CHECK_NEGATIVE
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, K: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, 8))
    # CHECK_MORE: tl.topk cannot take 16 of 8 elements
    # CHECK_NONE: tl.topk cannot take 0 of 8 elements
    # CHECK_ODD: tl.topk cannot take 3 of 8 elements
    # CHECK_NEGATIVE: tl.topk cannot take -2 of 8 elements
    tl.store(x_ptr, tl.sum(tl.topk(x, K), 0))
