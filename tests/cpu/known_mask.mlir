// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Up to the mask's bound the mask is true for whole vectors, so selects by it need no comparison; after the bound they need one.
// CHECK-LABEL: llvm.func internal @masked.program
// CHECK: %[[FULL:.*]] = arith.andi %{{.*}}, %{{.*}} : i64
// CHECK: scf.for %{{.*}} to
// CHECK-NOT: arith.cmpi
// CHECK: arith.subf
// CHECK-NOT: arith.cmpi
// CHECK: llvm.store
// CHECK: scf.for
// CHECK: arith.cmpi slt, %{{.*}} : vector<8xi32>
// CHECK: llvm.return
tt.func public @masked(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32, %mean: f32) {
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %ns = tt.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %range, %ns : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp, %mask : tensor<1024x!tt.ptr<f32>>
  %means = tt.splat %mean : f32 -> tensor<1024xf32>
  %d = arith.subf %v, %means : tensor<1024xf32>
  %c = arith.select %mask, %d, %zero : tensor<1024xi1>, tensor<1024xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %c : tensor<1024x!tt.ptr<f32>>
  tt.return
}
