// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// If the masks of both operands end along K, the copy of A (if its rows cannot be read that far) and the panels of B end there, too. So does
// the loop over K: after the unrolled steps, each remaining step is an iteration.
// CHECK-LABEL: llvm.func internal @matmul.program
// CHECK: %[[LENGTH:.*]] = arith.maxsi
// CHECK: scf.if
// CHECK: } else {
// CHECK: %[[COPIED:.*]] = arith.minsi %[[LENGTH]],
// CHECK: scf.for {{.*}} to %[[COPIED]] step
// CHECK: %[[PACKED:.*]] = arith.minsi %[[LENGTH]],
// CHECK: scf.for {{.*}} to %[[PACKED]] step
// CHECK: %[[WHOLE:.*]] = arith.andi %[[LENGTH]], %c-2
// CHECK: scf.for {{.*}} to %[[WHOLE]] step
// CHECK: llvm.intr.fma
// CHECK: scf.for {{.*}} = %[[WHOLE]] to %[[LENGTH]] step %c1
// CHECK: llvm.intr.fma
tt.func public @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %size: i32) {
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %side = arith.constant dense<64> : tensor<64x1xi32>
  %far = arith.muli %rows, %side : tensor<64x1xi32>
  %down = tt.broadcast %far : tensor<64x1xi32> -> tensor<64x64xi32>
  %across = tt.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %places = arith.addi %down, %across : tensor<64x64xi32>
  %end_rows = tt.splat %size : i32 -> tensor<64x1xi32>
  %end_columns = tt.splat %size : i32 -> tensor<1x64xi32>
  %left = arith.cmpi slt, %columns, %end_columns : tensor<1x64xi32>
  %right = arith.cmpi slt, %rows, %end_rows : tensor<64x1xi32>
  %a_mask = tt.broadcast %left : tensor<1x64xi1> -> tensor<64x64xi1>
  %b_mask = tt.broadcast %right : tensor<64x1xi1> -> tensor<64x64xi1>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %ap = tt.addptr %as, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %bp = tt.addptr %bs, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %x = tt.load %ap, %a_mask, %none : tensor<64x64x!tt.ptr<f32>>
  %y = tt.load %bp, %b_mask, %none : tensor<64x64x!tt.ptr<f32>>
  %d = tt.dot %x, %y, %none : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %cp, %d : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
