// RUN: tilewright opt %s --prepare-lowering --order-accesses --lower-to-threads -split-input-file | FileCheck %s

// division is correctly rounded only on request; exp uses the hardware's 2^x; rounding is an instruction
// CHECK-LABEL: tt.func @functions
// CHECK: ptx.divide
// CHECK: arith.divf
// CHECK: ptx.special ex2
// CHECK: ptx.special floor
// CHECK: ptx.fma
tt.func public @functions(%x: !tt.ptr<f32>, %a: f32, %b: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %0 = arith.divf %a, %b : f32
  %1 = tt.precise_divf %0, %b : f32
  %2 = math.exp %1 : f32
  %3 = math.floor %2 : f32
  %4 = math.fma %3, %a, %b : f32
  tt.store %x, %4 : !tt.ptr<f32>
  tt.return
}

// -----

// e^x of a sum or a product uses short code, because their rounding matters as much; e^x of a loaded value is exact to the last digit
// CHECK-LABEL: tt.func @short_exp
// CHECK: arith.subf
// CHECK-NEXT: arith.constant 1.442695
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: ptx.special ex2
// CHECK-NOT: arith.shli
// CHECK: tt.return
tt.func public @short_exp(%x: !tt.ptr<f32>, %a: f32, %b: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %0 = arith.subf %a, %b : f32
  %1 = math.exp %0 : f32
  tt.store %x, %1 : !tt.ptr<f32>
  tt.return
}

// -----

// CHECK-LABEL: tt.func @exp_of_a_number
// CHECK: arith.shli
// CHECK: tt.return
tt.func public @exp_of_a_number(%x: !tt.ptr<f32>, %a: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %0 = math.exp %a : f32
  tt.store %x, %0 : !tt.ptr<f32>
  tt.return
}

// -----

#row = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
// arithmetic on 8-bit floats is in f32; two values are converted at a time
// CHECK-LABEL: tt.func @bytes
// CHECK: ptx.convert %{{.*}} e5m2 -> f16
// CHECK-COUNT-2: arith.addf {{.*}} : f32
// CHECK: ptx.convert_pair {{.*}} e5m2
tt.func public @bytes(%x: !tt.ptr<f8E5M2>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %p = tt.splat %x : !tt.ptr<f8E5M2> -> tensor<256x!tt.ptr<f8E5M2>, #row>
  %v = tt.load %p : tensor<256x!tt.ptr<f8E5M2>, #row>
  %s = arith.addf %v, %v : tensor<256xf8E5M2, #row>
  tt.store %p, %s : tensor<256x!tt.ptr<f8E5M2>, #row>
  tt.return
}

// -----

// before sm_89 there are no instructions for that
// CHECK-LABEL: tt.func @older
// CHECK-NOT: ptx.convert
// CHECK: arith.trunci
tt.func public @older(%x: !tt.ptr<f8E4M3FN>, %a: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">} {
  %0 = tt.fp_to_fp %a, rounding = rtne : f32 -> f8E4M3FN
  tt.store %x, %0 : !tt.ptr<f8E4M3FN>
  tt.return
}

// -----

// functions of f32 use f32, and a branch for large arguments
// CHECK-LABEL: tt.func @single_functions
// CHECK-NOT: f64
// CHECK: scf.if
// CHECK-NOT: f64
// CHECK: ptx.special lg2 {{.*}} {flushes}
// CHECK-NOT: f64
// CHECK: tt.return
tt.func public @single_functions(%x: !tt.ptr<f32>, %a: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %0 = math.sin %a : f32
  %1 = math.log1p %0 : f32
  %2 = math.expm1 %1 : f32
  %3 = math.cbrt %2 : f32
  tt.store %x, %3 : !tt.ptr<f32>
  tt.return
}
