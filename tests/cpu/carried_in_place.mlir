// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// The accumulator is updated in place: the loop over vectors is the only loop in the body.
// CHECK-LABEL: llvm.func internal @in_place.program
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: !llvm.ptr) {
// CHECK: scf.for {{.*}} : i32 {
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} vector<8xf32>
// CHECK-COUNT-4: llvm.store
// CHECK-NEXT: {{^ +[}]$}}
// CHECK-NEXT: {{^ +[}] [{]tt.kernel_loop[}]$}}
// CHECK: llvm.return
tt.func public @in_place(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<1024xf32>
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %acc = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (tensor<1024xf32>) : i32 {
    %v = tt.load %xp : tensor<1024x!tt.ptr<f32>>
    %s = arith.addf %a, %v : tensor<1024xf32>
    scf.yield %s : tensor<1024xf32>
  }
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %acc : tensor<1024x!tt.ptr<f32>>
  tt.return
}
