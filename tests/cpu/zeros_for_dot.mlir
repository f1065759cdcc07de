// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s
// Zeros that a loop carries to a dot are not written if the loop has an iteration: the first dot writes its sums, and later ones add to
// them.
// CHECK-LABEL: llvm.func internal @summed.program
// CHECK: %[[NONE:.*]] = arith.cmpi sge, %[[BEGIN:.*]], %[[END:.*]] : i32
// CHECK-NEXT: scf.if %[[NONE]]
// CHECK: llvm.store
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: arith.andi %{{.*}}, %c255_i64
// CHECK: arith.andi %[[START:.*]], %c255_i64
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[START]], %c0_i64
// CHECK: scf.if %[[FIRST]] -> (vector<8xf32>
// CHECK-NEXT: arith.constant dense<0.000000e+00>
// CHECK: } else {
// CHECK: llvm.load %{{.*}} -> vector<8xf32>
// CHECK: llvm.intr.fma
tt.func public @summed(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %n: i32) {
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %length = arith.constant dense<16> : tensor<16x1xi32>
  %starts = arith.muli %rows, %length : tensor<16x1xi32>
  %down = tt.broadcast %starts : tensor<16x1xi32> -> tensor<16x16xi32>
  %across = tt.broadcast %columns : tensor<1x16xi32> -> tensor<16x16xi32>
  %places = arith.addi %down, %across : tensor<16x16xi32>
  %sum = scf.for %k = %zero to %n step %one iter_args(%acc = %none) -> (tensor<16x16xf32>) : i32 {
    %a0 = tt.addptr %a, %k : !tt.ptr<f32>, i32
    %as = tt.splat %a0 : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %ap = tt.addptr %as, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %x = tt.load %ap : tensor<16x16x!tt.ptr<f32>>
    %b0 = tt.addptr %b, %k : !tt.ptr<f32>, i32
    %bs = tt.splat %b0 : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %bp = tt.addptr %bs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %y = tt.load %bp : tensor<16x16x!tt.ptr<f32>>
    %d = tt.dot %x, %y, %acc : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %d : tensor<16x16xf32>
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  tt.store %cp, %sum : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
