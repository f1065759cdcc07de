// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// CHECK: descriptor_sizes.mlir:[[#@LINE+2]]:1: error: argument 0 is a descriptor, but 1 sizes (i32) and 1 strides (i64) do not follow it
// CHECK: help: write them behind it
tt.func public @k(%d: !tt.tensordesc<tensor<16xf16>>, %i: i32) {
  tt.return
}
