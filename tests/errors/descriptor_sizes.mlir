// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// CHECK: descriptor_sizes.mlir:[[#@LINE+2]]:1: error: argument 0 is a descriptor, but the arguments after it are not its 1 sizes (i32) and 1 strides (i64)
// CHECK: help: add the sizes and strides after the descriptor
tt.func public @k(%d: !tt.tensordesc<tensor<16xf16>>, %i: i32) {
  tt.return
}
