// On Hopper, a dot of operands with block scales becomes a bf16 dot: threads compute the operand in registers, from which wgmma reads it.
// RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ptx | FileCheck %s
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

// ---- 4-bit values, eight in a register: one multiplication and one mask separate two of them
// RUN: tilewright compile %s --kernel packed --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=PACKED
// The two are adjacent, so nothing reorders them afterwards. One instruction scales both. Here all bytes are the same.
// PACKED: prmt.b32 {{.*}}, 0xc480U
// PACKED-COUNT-4: and.b32 {{.*}}, -2118090304
// PACKED-NOT: prmt
// PACKED-COUNT-8: mul.bf16x2
// PACKED-NOT: prmt
// PACKED-NOT: mul.bf16{{ }}
// PACKED: wgmma.mma_async

tt.func public @packed(%p: !tt.ptr<i8>, %s: !tt.ptr<i8>, %a: !tt.ptr<bf16>, %o: !tt.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %as = tt.splat %a : !tt.ptr<bf16> -> tensor<64x64x!tt.ptr<bf16>>
  %x = tt.load %as : tensor<64x64x!tt.ptr<bf16>>
  %ps = tt.splat %p : !tt.ptr<i8> -> tensor<32x128x!tt.ptr<i8>>
  %b = tt.load %ps : tensor<32x128x!tt.ptr<i8>>
  %ss = tt.splat %s : !tt.ptr<i8> -> tensor<128x2x!tt.ptr<i8>>
  %scale = tt.load %ss : tensor<128x2x!tt.ptr<i8>>
  %d = tt.dot_scaled %x, %b scale %scale, %zero lhs = bf16 rhs = e2m1 {fastMath = false} : tensor<64x64xbf16> * tensor<32x128xi8>, tensor<128x2xi8> -> tensor<64x128xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
  tt.store %out, %d : tensor<64x128x!tt.ptr<f32>>
  tt.return
}
