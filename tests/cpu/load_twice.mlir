// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// The maximum loads x, and the store loads it again, which is cheaper than storing it in scratch. The scratch pointer (%arg9) is
// used only if %out overlaps %x.
// CHECK-LABEL: llvm.func internal @load_twice.program
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: !llvm.ptr) {
// CHECK-NOT: %[[ARENA]]
// CHECK: llvm.load {{.*}} vector<8xf32>
// CHECK: arith.maxnumf
// CHECK-NOT: %[[ARENA]]
// CHECK: llvm.load {{.*}} vector<8xf32>
// CHECK: arith.subf
// CHECK-NOT: %[[ARENA]]
// CHECK: else
// CHECK: llvm.getelementptr %[[ARENA]]
// CHECK: llvm.return
tt.func public @load_twice(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %max = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<1024xf32>) -> f32
  %s = tt.splat %max : f32 -> tensor<1024xf32>
  %d = arith.subf %v, %s : tensor<1024xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %d : tensor<1024x!tt.ptr<f32>>
  tt.return
}
