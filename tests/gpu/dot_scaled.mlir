// A product of operands with block scales is a product of bf16 on Hopper: the numbers are made in registers, wgmma reads them.
// RUN: tilewright compile %s --target cuda:sm_90a --emit ptx | FileCheck %s
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16

tt.func public @scaled(%p: !tt.ptr<f8E4M3FN>, %s: !tt.ptr<i8>, %o: !tt.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %ps = tt.splat %p : !tt.ptr<f8E4M3FN> -> tensor<128x128x!tt.ptr<f8E4M3FN>>
  %a = tt.load %ps : tensor<128x128x!tt.ptr<f8E4M3FN>>
  %ss = tt.splat %s : !tt.ptr<i8> -> tensor<128x4x!tt.ptr<i8>>
  %scale = tt.load %ss : tensor<128x4x!tt.ptr<i8>>
  %d = tt.dot_scaled %a scale %scale, %a scale %scale, %zero lhs = e4m3 rhs = e4m3 {fastMath = false} : tensor<128x128xf8E4M3FN>, tensor<128x4xi8> * tensor<128x128xf8E4M3FN>, tensor<128x4xi8> -> tensor<128x128xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
  tt.store %out, %d : tensor<128x128x!tt.ptr<f32>>
  tt.return
}
