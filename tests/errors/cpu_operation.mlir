// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// CHECK: cpu_operation.mlir:[[#@LINE+4]]:8: error: 'math.atan' is not supported on CPUs
// CHECK: help: write it in terms of other operations
tt.func public @k(%p: !tt.ptr<f32>) {
  %x = tt.load %p : !tt.ptr<f32>
  %y = math.atan %x : f32
  tt.store %p, %y : !tt.ptr<f32>
  tt.return
}
