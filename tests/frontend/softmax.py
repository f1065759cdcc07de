# RUN: tilewright compile %s --kernel k --signature '*fp32, *fp32, i32, i32, 1024' --emit tt | FileCheck %s
# Softmax of rows in a loop with an option for the pipeliner; reductions come from the library.
import triton
import triton.language as tl
from triton.language.extra import libdevice


# CHECK-LABEL: tt.func public @k(
@triton.jit
def k(out_ptr, in_ptr, rows, columns, BLOCK: tl.constexpr):
    # CHECK: tt.get_program_id x
    # CHECK: tt.get_num_programs x
    # CHECK: scf.for
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=4):
        offsets = tl.arange(0, BLOCK)
        mask = offsets < columns
        # CHECK: tt.load
        x = tl.load(in_ptr + row * columns + offsets, mask=mask, other=-float("inf"))
        # CHECK: math.exp
        y = tl.exp(x - tl.max(x, axis=0))
        # CHECK: arith.divf
        tl.store(out_ptr + row * columns + offsets, y / tl.sum(y, axis=0), mask=mask)
    # CHECK: tt.num_stages = 4 : i32
