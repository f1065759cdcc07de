# RUN: not tilewright compile %s --kernel k --signature '*fp32' 2>&1 | FileCheck %s
import triton
import triton.language as tl


# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: Config: num_warps has to be an int, not 'four'
@triton.autotune(configs=[triton.Config({"B": 8}, num_warps='four')], key=[])
@triton.jit
def k(x_ptr, B: tl.constexpr):
    pass
