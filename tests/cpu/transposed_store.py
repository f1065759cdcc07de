# RUN: tilewright compile %s --kernel transposed --target cpu:avx2 --signature '*fp32:16, *fp32:16, i32:16, i32:16, i32, 64' --emit loops | FileCheck %s
import triton
import triton.language as tl


# Squares of eight rows are loaded contiguously, transposed in registers, and stored contiguously. At the edge each row is gathered: one loop
# for any size of the square.
# CHECK-LABEL: llvm.func internal @transposed.program
# CHECK-COUNT-8: llvm.load {{.*}} vector<8xf32>
# CHECK: llvm.shufflevector
# CHECK-COUNT-8: llvm.store {{.*}} vector<8xf32>
# CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step %c1_i64
# CHECK: arith.addi %{{.*}}, %[[ROW]]
# CHECK: masked
@triton.jit
def transposed(x_ptr, out_ptr, ROWS, COLUMNS, limit, SIDE: tl.constexpr):
    rows = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    columns = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    tile = tl.load(x_ptr + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out_ptr + columns[:, None] * ROWS + rows[None, :], tl.trans(tile), mask=rows[None, :] < limit)
