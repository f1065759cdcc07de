// RUN: tilewright compile %s --from lower-to-loops --emit loops --target cpu:avx2 | FileCheck %s
// RUN: tilewright compile %s --from lower-to-loops --emit obj --target cpu:avx2 -o %t.o
// The step simplify moves constants out of regions, but IR text may have them there.

// CHECK-LABEL: llvm.func internal @largest.program
// CHECK: arith.constant dense<5.000000e-01> : vector<8xf32>
// CHECK: arith.maxnumf
tt.func public @largest(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %xp : tensor<64x!tt.ptr<f32>>
  %max = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %half = arith.constant 5.000000e-01 : f32
    %c = arith.maxnumf %a, %half : f32
    %d = arith.maxnumf %b, %c : f32
    tt.reduce.return %d : f32
  }) : (tensor<64xf32>) -> f32
  tt.store %out, %max : !tt.ptr<f32>
  tt.return
}
