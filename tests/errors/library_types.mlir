// The number of operands and all types of a library function are compared with its row in libdevice.def, before any back end.
// RUN: split-file %s %t
// RUN: not tilewright compile %t/operands.mlir --emit asm 2>&1 | FileCheck %s --check-prefix=CHECK-OPERANDS
// RUN: not tilewright compile %t/operands.mlir --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=CHECK-OPERANDS
// RUN: not tilewright compile %t/operand.mlir --emit asm 2>&1 | FileCheck %s --check-prefix=CHECK-OPERAND
// RUN: not tilewright compile %t/operand.mlir --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=CHECK-OPERAND
// RUN: not tilewright compile %t/result.mlir --emit asm 2>&1 | FileCheck %s --check-prefix=CHECK-RESULT
// RUN: not tilewright compile %t/result.mlir --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=CHECK-RESULT

// CHECK-OPERANDS: operands.mlir:2:8: error: tl.extern_elementwise of '__nv_fmodf' with these types is not supported
// CHECK-OPERANDS: help: its form is (fp32, fp32) -> fp32
// CHECK-OPERAND: operand.mlir:2:8: error: tl.extern_elementwise of '__nv_powf' with these types is not supported
// CHECK-OPERAND: help: its form is (fp32, fp32) -> fp32
// CHECK-RESULT: result.mlir:2:8: error: tl.extern_elementwise of '__nv_floorf' with these types is not supported
// CHECK-RESULT: help: its form is (fp32) -> fp32

//--- operands.mlir
tt.func public @k(%p: !tt.ptr<f32>, %x: f32) {
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_fmodf"} : (f32) -> f32
  tt.store %p, %y : !tt.ptr<f32>
  tt.return
}
//--- operand.mlir
tt.func public @k(%p: !tt.ptr<f32>, %x: f32, %n: i32) {
  %y = tt.extern_elementwise %x, %n {libname = "", libpath = "", pure = true, symbol = "__nv_powf"} : (f32, i32) -> f32
  tt.store %p, %y : !tt.ptr<f32>
  tt.return
}
//--- result.mlir
tt.func public @k(%p: !tt.ptr<i32>, %x: f32) {
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_floorf"} : (f32) -> i32
  tt.store %p, %y : !tt.ptr<i32>
  tt.return
}
