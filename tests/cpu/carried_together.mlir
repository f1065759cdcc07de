// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Common subexpressions of several carried tiles are computed once, in one loop.
// CHECK-LABEL: llvm.func internal @carried_together.program
// CHECK-COUNT-4: arith.negf
// CHECK-NOT: arith.negf
// CHECK: llvm.return
tt.func public @carried_together(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<4x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c640 = arith.constant 640 : i32
  %rows = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
  %columns = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %r = tt.expand_dims %rows {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  %k = arith.constant dense<640> : tensor<4x1xi32>
  %rk = arith.muli %r, %k : tensor<4x1xi32>
  %rb = tt.broadcast %rk : tensor<4x1xi32> -> tensor<4x64xi32>
  %c = tt.expand_dims %columns {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %cb = tt.broadcast %c : tensor<1x64xi32> -> tensor<4x64xi32>
  %at = arith.addi %rb, %cb : tensor<4x64xi32>
  %both:2 = scf.for %i = %c0 to %c640 step %c64 iter_args(%a = %zero, %b = %zero) -> (tensor<4x64xf32>, tensor<4x64xf32>) : i32 {
    %is = tt.splat %i : i32 -> tensor<4x64xi32>
    %here = arith.addi %at, %is : tensor<4x64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<4x64x!tt.ptr<f32>>
    %p = tt.addptr %xs, %here : tensor<4x64x!tt.ptr<f32>>, tensor<4x64xi32>
    %v = tt.load %p : tensor<4x64x!tt.ptr<f32>>
    %d = arith.subf %v, %a : tensor<4x64xf32>
    %q = arith.negf %d : tensor<4x64xf32>
    %na = arith.addf %a, %q : tensor<4x64xf32>
    %e = arith.mulf %d, %q : tensor<4x64xf32>
    %nb = arith.addf %b, %e : tensor<4x64xf32>
    scf.yield %na, %nb : tensor<4x64xf32>, tensor<4x64xf32>
  }
  %sum = arith.addf %both#0, %both#1 : tensor<4x64xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<4x64x!tt.ptr<f32>>
  %op = tt.addptr %os, %at : tensor<4x64x!tt.ptr<f32>>, tensor<4x64xi32>
  tt.store %op, %sum : tensor<4x64x!tt.ptr<f32>>
  tt.return
}
