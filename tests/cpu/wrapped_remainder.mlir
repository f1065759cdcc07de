// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// (start + i) % n is a contiguous range up to the index at which it wraps around. If n is at least a vector, loops run from one such index to
// the next and load vectors; the other version gathers.
// CHECK-LABEL: llvm.func internal @wrapped.program
// CHECK: scf.if
// CHECK: arith.divui
// CHECK: llvm.load {{.*}} vector<8xf32>
// CHECK-NOT: gather
// CHECK: } else {
// CHECK: llvm.intr.masked.gather
// CHECK: llvm.return
tt.func public @wrapped(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %start: i32, %n: i32) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %ss = tt.splat %start : i32 -> tensor<1024xi32>
  %ns = tt.splat %n : i32 -> tensor<1024xi32>
  %i = arith.addi %ss, %r : tensor<1024xi32>
  %w = arith.remsi %i, %ns : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %w : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %v : tensor<1024x!tt.ptr<f32>>
  tt.return
}
