// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// CHECK: dot_integers.mlir:[[#@LINE+6]]:8: error: tl.dot of 16-bit integers is not supported on CPUs
// CHECK: help: convert the operands to int8, fp32 or fp64 first
tt.func public @k(%p: !tt.ptr<i16>, %q: !tt.ptr<i32>) {
  %s = tt.splat %p : !tt.ptr<i16> -> tensor<16x16x!tt.ptr<i16>>
  %x = tt.load %s : tensor<16x16x!tt.ptr<i16>>
  %z = arith.constant dense<0> : tensor<16x16xi32>
  %y = tt.dot %x, %x, %z : tensor<16x16xi16> * tensor<16x16xi16> -> tensor<16x16xi32>
  %t = tt.splat %q : !tt.ptr<i32> -> tensor<16x16x!tt.ptr<i32>>
  tt.store %t, %y : tensor<16x16x!tt.ptr<i32>>
  tt.return
}
