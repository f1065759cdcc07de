// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Eight elements are one vector, so the program has no loop.
// CHECK-LABEL: llvm.func internal @one_turn.program
// CHECK-NOT: scf.for
// CHECK: llvm.load {{.*}} vector<8xf32>
// CHECK-NOT: scf.for
// CHECK: llvm.func @one_turn.entry
tt.func public @one_turn(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  %v = tt.load %xp : tensor<8x!tt.ptr<f32>>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.store %op, %v : tensor<8x!tt.ptr<f32>>
  tt.return
}
