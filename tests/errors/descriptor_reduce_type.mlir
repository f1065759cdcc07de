// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
tt.func public @k(%base: !tt.ptr<f32>, %n: i32, %s: i64) {
  %v = arith.constant dense<1.0> : tensor<16xf32>
  %d = tt.make_tensor_descriptor %base, [%n], [%s] : <f32>, <tensor<16xf32>>
  // CHECK: descriptor_reduce_type.mlir:[[#@LINE+3]]:3: error: 'min' does not support elements of f32 in a tensor descriptor
  // CHECK: help: use tl.atomic_min on pointers, or another element type
  // CHECK-NOT: error
  tt.descriptor_reduce min, %d[%n], %v : !tt.tensordesc<tensor<16xf32>>, tensor<16xf32>
  tt.return
}
