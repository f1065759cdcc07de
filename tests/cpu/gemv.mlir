// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s
// RUN: sed 's/constant 17/constant 18/' %s > %t.18.ttir
// RUN: tilewright compile %t.18.ttir --emit loops --target cpu:avx2 | FileCheck %s --check-prefix=MORE
// RUN: sed -e '/constant 17/d' -e 's/%c: !tt.ptr<f32>/&, %m: i32, %n: i32/' %s > %t.ttir
// RUN: tilewright compile %t.ttir --emit loops --target cpu:avx2 | FileCheck %s --check-prefix=MORE

// The GEMV path: if only one row is needed, which is known at run time, the matrix is not packed. The same holds for one column.
// CHECK-LABEL: llvm.func internal @matmul.program
// CHECK: %[[ROWS:.*]] = arith.cmpi sle, %{{.*}}, %c1_i64{{.*}} : i64
// CHECK: scf.if %[[ROWS]]
// CHECK: llvm.intr.fma
// CHECK: } else {
// CHECK: %[[COLUMNS:.*]] = arith.cmpi sle, %{{.*}}, %c1_i64{{.*}} : i64
// CHECK: scf.if %[[COLUMNS]]
// CHECK: llvm.intr.fma
// CHECK: llvm.return

// A matrix whose last tile has several rows and columns gets no such code. If its size is an argument, the launch decides.
// MORE-LABEL: llvm.func internal @matmul.program
// MORE-NOT: arith.cmpi sle, %{{.*}}, %c1_i64
// MORE: llvm.return
tt.func public @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>) {
  %m = arith.constant 17 : i32
  %n = arith.constant 17 : i32
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %size = arith.constant 16 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %size : i32
  %firsts = tt.splat %first : i32 -> tensor<16xi32>
  %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %own = arith.addi %firsts, %i : tensor<16xi32>
  %ms = tt.splat %m : i32 -> tensor<16xi32>
  %row = arith.remsi %own, %ms : tensor<16xi32>
  %ns = tt.splat %n : i32 -> tensor<1x16xi32>
  %rows = tt.expand_dims %row {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %owns = tt.expand_dims %own {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %j = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %k = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %long = tt.splat %size : i32 -> tensor<16x1xi32>
  %far = arith.muli %rows, %long : tensor<16x1xi32>
  %ap0 = tt.splat %a : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
  %ap1 = tt.addptr %ap0, %far : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
  %ap2 = tt.broadcast %ap1 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
  %js = tt.broadcast %j : tensor<1x16xi32> -> tensor<16x16xi32>
  %ap = tt.addptr %ap2, %js : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %x = tt.load %ap : tensor<16x16x!tt.ptr<f32>>
  %down = arith.muli %k, %long : tensor<16x1xi32>
  %bp0 = tt.splat %b : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
  %bp1 = tt.addptr %bp0, %down : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
  %bp2 = tt.broadcast %bp1 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
  %bp = tt.addptr %bp2, %js : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %y = tt.load %bp : tensor<16x16x!tt.ptr<f32>>
  %d = tt.dot %x, %y, %none : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
  %up = arith.muli %owns, %long : tensor<16x1xi32>
  %cp0 = tt.splat %c : !tt.ptr<f32> -> tensor<16x1x!tt.ptr<f32>>
  %cp1 = tt.addptr %cp0, %up : tensor<16x1x!tt.ptr<f32>>, tensor<16x1xi32>
  %cp2 = tt.broadcast %cp1 : tensor<16x1x!tt.ptr<f32>> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cp2, %js : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %mcol = tt.splat %m : i32 -> tensor<16x1xi32>
  %inrow = arith.cmpi slt, %owns, %mcol : tensor<16x1xi32>
  %column = tt.expand_dims %own {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %incol = arith.cmpi slt, %column, %ns : tensor<1x16xi32>
  %inrows = tt.broadcast %inrow : tensor<16x1xi1> -> tensor<16x16xi1>
  %incols = tt.broadcast %incol : tensor<1x16xi1> -> tensor<16x16xi1>
  %mask = arith.andi %inrows, %incols : tensor<16x16xi1>
  tt.store %cp, %d, %mask : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
