// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// CHECK: cpu_function.mlir:[[#@LINE+5]]:8: error: the function 'myFunction' is not supported on CPUs
// CHECK: help: use functions of tl.math
tt.func public @k(%p: !tt.ptr<f32>) {
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %x = tt.load %s : tensor<16x!tt.ptr<f32>>
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "myFunction"} : (tensor<16xf32>) -> tensor<16xf32>
  tt.store %s, %y : tensor<16x!tt.ptr<f32>>
  tt.return
}
