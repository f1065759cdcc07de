// Dots of microscaling formats become dots of the numbers that the formats encode.
// RUN: tilewright opt %s --expand-scaled-dots -split-input-file | FileCheck %s

// ---- bytes of e2m1 are split along K; an exponent becomes a bf16 without a fraction, 255 is NaN, and each scale is repeated 32 times
// CHECK-LABEL: @four_bits
tt.func public @four_bits(%a: tensor<16x32xi8>, %s: tensor<16x2xi8>, %b: tensor<64x16xbf16>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // CHECK: %[[PAIRS:.*]] = tt.join {{.*}} : tensor<16x32xi8> -> tensor<16x32x2xi8>
  // CHECK: tt.reshape %[[PAIRS]] : tensor<16x32x2xi8> -> tensor<16x64xi8>
  // CHECK: %[[NUMBERS:.*]] = tt.bitcast {{.*}} : tensor<16x64xi16> -> tensor<16x64xbf16>
  // CHECK: arith.select {{.*}} : tensor<16x2xi1>, tensor<16x2xi16>
  // CHECK: tt.broadcast {{.*}} : tensor<16x2x1xbf16> -> tensor<16x2x32xbf16>
  // CHECK: %[[SCALED:.*]] = arith.mulf %[[NUMBERS]], {{.*}} : tensor<16x64xbf16>
  // CHECK: tt.dot %[[SCALED]], %{{.*}}, %{{.*}} : tensor<16x64xbf16> * tensor<64x16xbf16> -> tensor<16x16xf32>
  %d = tt.dot_scaled %a scale %s, %b, %c lhs = e2m1 rhs = bf16 {fastMath = false}
    : tensor<16x32xi8>, tensor<16x2xi8> * tensor<64x16xbf16> -> tensor<16x16xf32>
  tt.return %d : tensor<16x16xf32>
}

// -----

// ---- with fastMath there is no check for NaN; the right operand's scale is transposed; an fp16 operand makes everything fp16
// CHECK-LABEL: @right
tt.func public @right(%a: tensor<16x64xf16>, %b: tensor<64x16xf8E4M3FN>, %s: tensor<16x2xi8>, %c: tensor<16x16xf32>) -> tensor<16x16xf32> {
  // CHECK-NOT: arith.select
  // CHECK: tt.trans %{{.*}} {order = array<i32: 1, 0>} : tensor<16x2xf16> -> tensor<2x16xf16>
  // CHECK: tt.broadcast {{.*}} : tensor<2x1x16xf16> -> tensor<2x32x16xf16>
  // CHECK: tt.dot {{.*}} : tensor<16x64xf16> * tensor<64x16xf16> -> tensor<16x16xf32>
  %d = tt.dot_scaled %a, %b scale %s, %c lhs = fp16 rhs = e4m3 {fastMath = true}
    : tensor<16x64xf16> * tensor<64x16xf8E4M3FN>, tensor<16x2xi8> -> tensor<16x16xf32>
  tt.return %d : tensor<16x16xf32>
}
