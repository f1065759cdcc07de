// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// exp(x) is summed and stored: it is computed once, into scratch, while it is summed.
// CHECK-LABEL: llvm.func internal @exp_once.program
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: !llvm.ptr) {
// CHECK: llvm.intr.fma
// CHECK: %[[TO:.*]] = llvm.getelementptr %[[ARENA]][
// CHECK-NEXT: llvm.store {{.*}}, %[[TO]] {{.*}} vector<8xf32>
// CHECK: %[[SUM:.*]] = llvm.extractelement
// CHECK-NOT: llvm.intr.fma
// CHECK: %[[FROM:.*]] = llvm.getelementptr %[[ARENA]][
// CHECK: llvm.load %[[FROM]] {{.*}} vector<8xf32>
// CHECK-NOT: llvm.intr.fma
// CHECK: arith.subf
// CHECK-NOT: llvm.intr.fma
// CHECK: llvm.return
tt.func public @exp_once(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %e = math.exp %v : tensor<1024xf32>
  %sum = "tt.reduce"(%e) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<1024xf32>) -> f32
  %s = tt.splat %sum : f32 -> tensor<1024xf32>
  %d = arith.subf %e, %s : tensor<1024xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %d : tensor<1024x!tt.ptr<f32>>
  tt.return
}
