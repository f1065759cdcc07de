# A number leaves a tile's type, but the quotient of a tile of 16-bit floats is fp32, by each of the rules.
# RUN: tilewright compile %s --signature '*fp16' | FileCheck %s
# RUN: tilewright compile %s --signature '*bf16' --numerics 3.9 | FileCheck %s
# RUN: tilewright compile %s --signature '*fp16' --numerics 3.10 | FileCheck %s
# RUN: tilewright compile %s --signature '*bf16' --numerics 3.10 | FileCheck %s
# RUN: tilewright compile %s --signature '*fp16' --numerics strict | FileCheck %s
import triton
import triton.language as tl


# CHECK: tt.func public @promoted
@triton.jit
def promoted(x_ptr):
    i = tl.arange(0, 16)
    x = tl.load(x_ptr + i)
    tl.static_assert((x / 2).dtype == tl.float32)
    tl.static_assert((1 / x).dtype == tl.float32)
    tl.static_assert((x * 2.5).dtype == x.dtype)
    tl.store(x_ptr + i, x / 2)
