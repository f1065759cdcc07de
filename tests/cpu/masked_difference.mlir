// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// A difference under the mask of its row has two readers. A mask that ends a loop costs nothing, so the difference costs little more than
// its load. It is computed twice, and the row is not stored in scratch.
// CHECK-LABEL: llvm.func internal @masked_difference.program
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: !llvm.ptr) {
// CHECK-NOT: llvm.getelementptr %[[ARENA]]
// CHECK: llvm.return
tt.func public @masked_difference(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32, %mean: f32) {
  %zero = arith.constant dense<0.0> : tensor<8192xf32>
  %r = tt.make_range {end = 8192 : i32, start = 0 : i32} : tensor<8192xi32>
  %ns = tt.splat %n : i32 -> tensor<8192xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<8192xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8192x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<8192x!tt.ptr<f32>>, tensor<8192xi32>
  %v = tt.load %xp, %mask, %zero : tensor<8192x!tt.ptr<f32>>
  %means = tt.splat %mean : f32 -> tensor<8192xf32>
  %d = arith.subf %v, %means : tensor<8192xf32>
  %centred = arith.select %mask, %d, %zero : tensor<8192xi1>, tensor<8192xf32>
  %sum = "tt.reduce"(%centred) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<8192xf32>) -> f32
  %max = "tt.reduce"(%centred) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<8192xf32>) -> f32
  %q = arith.divf %sum, %max : f32
  tt.store %out, %q : !tt.ptr<f32>
  tt.return
}
