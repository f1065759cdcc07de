# RUN: tilewright compile %s --kernel 加倍_kernel --signature "*fp32:16,*fp32:16,i32,128" --target cuda:sm_90a --emit ptx | FileCheck %s
# RUN: tilewright run %s --kernel 加倍_kernel --simulate --grid 1 --arg x_ptr=ones:f32[100] --arg out_ptr=zeros:f32[100] --arg n=100 \
# RUN:   --arg BLOCK=128 --print out_ptr | FileCheck %s --check-prefix=DOUBLED

# Python permits names with letters of all scripts, PTX does not.
# CHECK: .entry _E5_8A_A0_E5_80_8D_kernel(
# DOUBLED: min 2, max 2
import triton
import triton.language as tl


@triton.jit
def 加倍_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, 2 * tl.load(x_ptr + at, mask=at < n), mask=at < n)
