// Products of operands with block scales are refused by name, in one place: the layouts are for products that there are instructions for.
// RUN: tilewright opt %s --split-over-blocks --drop-wraparound --form-descriptors --assign-layouts -verify-diagnostics
// RUN: not tilewright compile %s --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s
// CHECK: error: 'tt.dot_scaled' is not built for GPUs

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">

tt.func public @scaled(%p: !tt.ptr<f8E4M3FN>, %s: !tt.ptr<i8>, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %ps = tt.splat %p : !tt.ptr<f8E4M3FN> -> tensor<128x128x!tt.ptr<f8E4M3FN>>
  %a = tt.load %ps : tensor<128x128x!tt.ptr<f8E4M3FN>>
  %ss = tt.splat %s : !tt.ptr<i8> -> tensor<128x4x!tt.ptr<i8>>
  %scale = tt.load %ss : tensor<128x4x!tt.ptr<i8>>
  // expected-error @+1 {{'tt.dot_scaled' is not built for GPUs}}
  %d = tt.dot_scaled %a scale %scale, %a scale %scale, %zero lhs = e4m3 rhs = e4m3 {fastMath = false} : tensor<128x128xf8E4M3FN>, tensor<128x4xi8> * tensor<128x128xf8E4M3FN>, tensor<128x4xi8> -> tensor<128x128xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
  tt.store %out, %d : tensor<128x128x!tt.ptr<f32>>
  tt.return
}
