// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// The sum of exp(x) squared is the first to need exp(x). Its loop computes exp(x) once and stores it for the second sum.
// CHECK-LABEL: llvm.func internal @exp_once_squared.program
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: !llvm.ptr) {
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK: llvm.intr.fma
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[ARENA]][%[[I]]]
// CHECK: llvm.store {{.*}}, %[[TO]] {{.*}} vector<8xf32>
// CHECK: arith.addf
// CHECK: scf.yield
// CHECK-NOT: scf.for
// CHECK: llvm.load %[[ARENA]]
// CHECK-NOT: llvm.store {{.*}} vector<8xf32>
// CHECK-NOT: llvm.intr.fma
// CHECK: scf.for %[[J:[a-z0-9]+]] =
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[ARENA]][%[[J]]]
// CHECK: llvm.load %[[FROM]] {{.*}} vector<8xf32>
// CHECK-NOT: llvm.intr.fma
// CHECK: llvm.return
tt.func public @exp_once_squared(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %e = math.exp %v : tensor<1024xf32>
  %e2 = arith.mulf %e, %e : tensor<1024xf32>
  %sum2 = "tt.reduce"(%e2) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<1024xf32>) -> f32
  %sum = "tt.reduce"(%e) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<1024xf32>) -> f32
  %q = arith.addf %sum2, %sum : f32
  tt.store %out, %q : !tt.ptr<f32>
  tt.return
}
