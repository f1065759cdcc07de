// Functions of libdevice that are written in the language are linked where an operation names them, also in IR text; other names stay.
// RUN: tilewright compile %s --until link-library | FileCheck %s
// RUN: tilewright compile %s --emit obj -o %t.o
// RUN: tilewright compile %s --target cuda:sm_90a --emit ptx -o %t.ptx

// CHECK-LABEL: tt.func public @k
tt.func public @k(%p: !tt.ptr<f32>) {
  %x = tt.load %p : !tt.ptr<f32>
  // CHECK: %[[Y:.*]] = tt.call @erfinv__fp32(%{{.*}}) : (f32) -> f32
  %y = tt.extern_elementwise %x {libname = "", libpath = "", pure = true, symbol = "__nv_erfinvf"} : (f32) -> f32
  // CHECK: tt.call @add_rounded__fp32_fp32_c{{.*}}rz{{.*}}(%[[Y]], %[[Y]])
  %z = tt.extern_elementwise %y, %y {libname = "", libpath = "", pure = true, symbol = "__nv_fadd_rz"} : (f32, f32) -> f32
  // CHECK: symbol = "__nv_tanhf"
  %t = tt.extern_elementwise %z {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (f32) -> f32
  tt.store %p, %t : !tt.ptr<f32>
  tt.return
}
// CHECK: tt.func private @erfinv__fp32(
