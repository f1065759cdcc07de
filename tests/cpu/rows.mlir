// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// In each row of 96 indices, x // 96 is uniform and x % 96 has stride 1: the row's index is loaded once, and its elements are contiguous.
// CHECK-LABEL: llvm.func internal @gather_rows.program
// CHECK-NOT: gather
// CHECK: scf.for
// CHECK: arith.maxsi
// CHECK: llvm.load {{.*}} !llvm.ptr -> i32
// CHECK-NOT: gather
// CHECK: llvm.load {{.*}} vector<8xf32>
// CHECK-NOT: gather
// CHECK: llvm.return
tt.func public @gather_rows(%w: !tt.ptr<f32>, %index: !tt.ptr<i32>, %out: !tt.ptr<f32>) {
  %n = arith.constant dense<96> : tensor<1024xi32>
  %size = arith.constant 1024 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %size : i32
  %starts = tt.splat %start : i32 -> tensor<1024xi32>
  %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %x = arith.addi %starts, %range : tensor<1024xi32>
  %row = arith.divsi %x, %n : tensor<1024xi32>
  %column = arith.remsi %x, %n : tensor<1024xi32>
  %is = tt.splat %index : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>>
  %ip = tt.addptr %is, %row : tensor<1024x!tt.ptr<i32>>, tensor<1024xi32>
  %i = tt.load %ip : tensor<1024x!tt.ptr<i32>>
  %wide = arith.extsi %i : tensor<1024xi32> to tensor<1024xi64>
  %n64 = arith.constant dense<96> : tensor<1024xi64>
  %first = arith.muli %wide, %n64 : tensor<1024xi64>
  %column64 = arith.extsi %column : tensor<1024xi32> to tensor<1024xi64>
  %offset = arith.addi %first, %column64 : tensor<1024xi64>
  %ws = tt.splat %w : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %wp = tt.addptr %ws, %offset : tensor<1024x!tt.ptr<f32>>, tensor<1024xi64>
  %v = tt.load %wp : tensor<1024x!tt.ptr<f32>>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %x : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %v : tensor<1024x!tt.ptr<f32>>
  tt.return
}
