// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Each body of an unrolled loop is a chain of dependent operations, so the operations of the bodies are interleaved.
// CHECK-LABEL: llvm.func internal @roots.program
// The first one's address takes one operation less.
// CHECK: %[[A:.*]] = llvm.load {{.*}} vector<8xf32>
// CHECK: %[[AA:.*]] = arith.mulf %[[A]], %[[A]]
// CHECK: %[[B:.*]] = llvm.load {{.*}} vector<8xf32>
// CHECK: %[[C:.*]] = llvm.load {{.*}} vector<8xf32>
// CHECK: arith.addf %[[AA]], %[[A]]
// CHECK: %[[BB:.*]] = arith.mulf %[[B]], %[[B]]
// CHECK: %[[CC:.*]] = arith.mulf %[[C]], %[[C]]
// CHECK: arith.addf %[[BB]], %[[B]]
// CHECK: arith.addf %[[CC]], %[[C]]
tt.func public @roots(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %xp : tensor<64x!tt.ptr<f32>>
  %square = arith.mulf %v, %v : tensor<64xf32>
  %sum = arith.addf %square, %v : tensor<64xf32>
  %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %yp = tt.addptr %ys, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %yp, %sum : tensor<64x!tt.ptr<f32>>
  tt.return
}
