// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// CHECK: combine_operation.mlir:[[#@LINE+11]]:10: error: 'scf.for' is not supported in a combine function on CPUs
// CHECK: help: combine with scalar arithmetic, comparisons and tl.where
tt.func public @k(%p: !tt.ptr<f32>) {
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %x = tt.load %s : tensor<16x!tt.ptr<f32>>
  %m = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %bits = arith.bitcast %b : f32 to i32
    // The number of iterations depends on the bits of a number.
    %c = scf.for %i = %zero to %bits step %one iter_args(%v = %a) -> f32 : i32 {
      %w = arith.addf %v, %b : f32
      scf.yield %w : f32
    }
    tt.reduce.return %c : f32
  }) : (tensor<16xf32>) -> f32
  tt.store %p, %m : !tt.ptr<f32>
  tt.return
}
