// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Rows that are not adjacent in memory: while a row is read again, the next one is prefetched. The last row prefetches the first one of the
// next program, if there is one.
// CHECK-LABEL: llvm.func internal @softmax.program
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: llvm.intr.prefetch
// CHECK: arith.maxnumf
// CHECK: %[[FOLLOWS:.*]] = arith.cmpi slt
// CHECK: %[[THERE:.*]] = arith.select %[[FOLLOWS]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt
// CHECK: %[[DISTANCE:.*]] = arith.select %[[MORE]], %{{.*}}, %[[THERE]]
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %[[DISTANCE]]
// CHECK: llvm.intr.prefetch
tt.func public @softmax(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %rows: i32, %stride: i32) {
  %pid = tt.get_program_id x : i32
  %programs = tt.get_num_programs x : i32
  %range = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  scf.for %row = %pid to %rows step %programs : i32 {
    %offset = arith.muli %row, %stride : i32
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
    %to = tt.addptr %out, %offset : !tt.ptr<f32>, i32
    %tos = tt.splat %to : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %outs = tt.addptr %tos, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    tt.store %outs, %centred : tensor<1024x!tt.ptr<f32>>
  }
  tt.return
}
