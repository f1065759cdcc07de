// RUN: tilewright compile %s --emit asm --target cpu:avx2 | FileCheck %s

// In the loop NaN costs nothing: `x > best ? x : best` is one instruction, and returns `best` if x is NaN. Only if the result is -inf is the
// row read again, by the operation that distinguishes NaN from -inf.
// CHECK-LABEL: row_max.program:
// CHECK-NOT: vcmpunordps
// CHECK: vmaxps
// CHECK-NOT: vcmpunordps
// CHECK: vmaxps
// CHECK-NOT: vcmpunordps
// CHECK: vmaxps
// CHECK-NOT: vcmpunordps
// CHECK: vmaxps
// CHECK: vucomiss
tt.func public @row_max(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %max = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<1024xf32>) -> f32
  tt.store %out, %max : !tt.ptr<f32>
  tt.return
}
