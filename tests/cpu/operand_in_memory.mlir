// RUN: tilewright compile %s --kernel whole --emit loops --target cpu:avx2 | FileCheck %s --check-prefix=WHOLE
// RUN: tilewright compile %s --kernel masked --emit loops --target cpu:avx2 | FileCheck %s --check-prefix=MASKED

// Rows of A that are contiguous along K are read directly by the dot, and A is not copied. The launch gives the stride of the rows.
// WHOLE-LABEL: llvm.func internal @whole.program
// WHOLE: %[[ROW:.*]] = arith.subi
// WHOLE-NOT: scf.if
// WHOLE: arith.muli %{{.*}}, %[[ROW]]
// WHOLE: llvm.intr.fma
tt.func public @whole(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %stride: i64) {
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %long = arith.extsi %i : tensor<16xi32> to tensor<16xi64>
  %rows = tt.expand_dims %long {axis = 1 : i32} : tensor<16xi64> -> tensor<16x1xi64>
  %columns = tt.expand_dims %long {axis = 0 : i32} : tensor<16xi64> -> tensor<1x16xi64>
  %strides = tt.splat %stride : i64 -> tensor<16x1xi64>
  %far = arith.muli %rows, %strides : tensor<16x1xi64>
  %down = tt.broadcast %far : tensor<16x1xi64> -> tensor<16x16xi64>
  %across = tt.broadcast %columns : tensor<1x16xi64> -> tensor<16x16xi64>
  %places = arith.addi %down, %across : tensor<16x16xi64>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %ap = tt.addptr %as, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  %x = tt.load %ap : tensor<16x16x!tt.ptr<f32>>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %bp = tt.addptr %bs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  %y = tt.load %bp : tensor<16x16x!tt.ptr<f32>>
  %d = tt.dot %x, %y, %none : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  %twice = arith.addf %d, %d : tensor<16x16xf32>
  tt.store %cp, %twice : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// If the mask excludes elements, the operand is copied instead.
// MASKED-LABEL: llvm.func internal @masked.program
// MASKED: %[[READABLE:.*]] = arith.cmpi sge
// MASKED: %[[FROM:.*]]:2 = scf.if %[[READABLE]]
// MASKED: scf.yield
// MASKED: llvm.store
// MASKED: scf.yield
// MASKED: llvm.inttoptr %[[FROM]]#0
// MASKED: arith.muli %{{.*}}, %[[FROM]]#1
// MASKED: llvm.intr.fma
tt.func public @masked(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %stride: i64, %m: i32) {
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %bound = tt.splat %m : i32 -> tensor<16xi32>
  %inside = arith.cmpi slt, %i, %bound : tensor<16xi32>
  %in_rows = tt.expand_dims %inside {axis = 1 : i32} : tensor<16xi1> -> tensor<16x1xi1>
  %mask = tt.broadcast %in_rows : tensor<16x1xi1> -> tensor<16x16xi1>
  %long = arith.extsi %i : tensor<16xi32> to tensor<16xi64>
  %rows = tt.expand_dims %long {axis = 1 : i32} : tensor<16xi64> -> tensor<16x1xi64>
  %columns = tt.expand_dims %long {axis = 0 : i32} : tensor<16xi64> -> tensor<1x16xi64>
  %strides = tt.splat %stride : i64 -> tensor<16x1xi64>
  %far = arith.muli %rows, %strides : tensor<16x1xi64>
  %down = tt.broadcast %far : tensor<16x1xi64> -> tensor<16x16xi64>
  %across = tt.broadcast %columns : tensor<1x16xi64> -> tensor<16x16xi64>
  %places = arith.addi %down, %across : tensor<16x16xi64>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %ap = tt.addptr %as, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  %x = tt.load %ap, %mask, %none : tensor<16x16x!tt.ptr<f32>>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %bp = tt.addptr %bs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  %y = tt.load %bp : tensor<16x16x!tt.ptr<f32>>
  %d = tt.dot %x, %y, %none : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  %twice = arith.addf %d, %d : tensor<16x16xf32>
  tt.store %cp, %twice, %mask : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
