// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Each program has a row: while it is read again, the row of the next program is prefetched, if the grid has one.
// CHECK-LABEL: llvm.func internal @centre.program
// CHECK-SAME: (%[[ID:[a-z0-9]+]]: i32, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: i32, %[[COUNT:[a-z0-9]+]]: i32
// CHECK-NOT: llvm.intr.prefetch
// CHECK: arith.maxnumf
// CHECK: %[[FOLLOWING:.*]] = arith.addi %[[ID]]
// CHECK: arith.muli %[[FOLLOWING]]
// CHECK: %[[FOLLOWS:.*]] = arith.cmpi slt, %[[FOLLOWING]], %[[COUNT]]
// CHECK: %[[DISTANCE:.*]] = arith.select %[[FOLLOWS]]
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %[[DISTANCE]]
// CHECK: llvm.intr.prefetch
// CHECK: arith.mulf
// CHECK: llvm.store
tt.func public @centre(%x: !tt.ptr<f32>, %weight: !tt.ptr<f32>, %out: !tt.ptr<f32>, %stride: i32) {
  %pid = tt.get_program_id x : i32
  %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %offset = arith.muli %pid, %stride : i32
  %start = tt.addptr %x, %offset : !tt.ptr<f32>, i32
  %starts = tt.splat %start : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %ptrs = tt.addptr %starts, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %ptrs : tensor<1024x!tt.ptr<f32>>
  %max = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %m = arith.maxnumf %a, %b : f32
    tt.reduce.return %m : f32
  }) : (tensor<1024xf32>) -> f32
  %maxes = tt.splat %max : f32 -> tensor<1024xf32>
  %centred = arith.subf %v, %maxes : tensor<1024xf32>
  %weights = tt.splat %weight : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %wp = tt.addptr %weights, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %w = tt.load %wp : tensor<1024x!tt.ptr<f32>>
  %scaled = arith.mulf %centred, %w : tensor<1024xf32>
  %to = tt.addptr %out, %offset : !tt.ptr<f32>, i32
  %tos = tt.splat %to : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %outs = tt.addptr %tos, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %outs, %scaled : tensor<1024x!tt.ptr<f32>>
  tt.return
}
