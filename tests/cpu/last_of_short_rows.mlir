// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Beyond the mask all elements of exp(x) are equal. A row that is shorter than the block computes that value once and fills the stored tile
// with it. A row that fills the block does not compute it.
// CHECK-LABEL: llvm.func internal @last_of_short_rows.program
// CHECK: scf.for
// CHECK: scf.if
// CHECK: llvm.intr.fma({{.*}}) : (f32, f32, f32) -> f32
// CHECK: } else {
// CHECK-NOT: (f32, f32, f32) -> f32
// CHECK: llvm.return
tt.func public @last_of_short_rows(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %low = arith.constant dense<0xFF800000> : tensor<1024xf32>
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %ns = tt.splat %n : i32 -> tensor<1024xi32>
  %mask = arith.cmpi slt, %r, %ns : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp, %mask, %low : tensor<1024x!tt.ptr<f32>>
  %e = math.exp %v : tensor<1024xf32>
  %sum = "tt.reduce"(%e) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<1024xf32>) -> f32
  %s = tt.splat %sum : f32 -> tensor<1024xf32>
  %d = arith.divf %e, %s : tensor<1024xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %d, %mask : tensor<1024x!tt.ptr<f32>>
  tt.return
}
