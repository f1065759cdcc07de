// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops --copy-unpipelined --schedule-mmas --overlap-mmas --allocate-shared --insert-barriers --prepare-lowering --order-accesses --lower-to-threads \
// RUN:   -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// Two dots, each with eight descriptors of a loop-invariant first operand, which ptxas would keep in registers. So they are computed as sums with a
// loop-variant bit that is always 0, the highest bit of the second operand's address.
// CHECK-LABEL: tt.func @many
// CHECK: scf.for
// CHECK: %[[bit:.*]] = arith.constant -2147483648 : i32
// CHECK: arith.andi %{{.*}}, %[[bit]]
// CHECK: ptx.wgmma
tt.func public @many(%n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}, %y: !ptx.tensor_map {ttg.tensor_map = #map})
    attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %sum = arith.constant dense<0.0> : tensor<128x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %step = arith.constant 32 : i32
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
  %g = ttg.descriptor_load %x[%c64, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
  %r = scf.for %i = %c0 to %n step %step iter_args(%dq = %sum) -> (tensor<128x64xf32>) : i32 {
    %k = ttg.descriptor_load %y[%c0, %i] {order = array<i32: 1, 0>} : tensor<32x64xf16>
    %v = ttg.descriptor_load %y[%c64, %i] {order = array<i32: 1, 0>} : tensor<32x64xf16>
    %kt = tt.trans %k {order = array<i32: 1, 0>} : tensor<32x64xf16> -> tensor<64x32xf16>
    %s = tt.dot %q, %kt, %zero : tensor<128x64xf16> * tensor<64x32xf16> -> tensor<128x32xf32>
    %vt = tt.trans %v {order = array<i32: 1, 0>} : tensor<32x64xf16> -> tensor<64x32xf16>
    %dp = tt.dot %g, %vt, %zero : tensor<128x64xf16> * tensor<64x32xf16> -> tensor<128x32xf32>
    %ds = arith.mulf %s, %dp : tensor<128x32xf32>
    %h = arith.truncf %ds : tensor<128x32xf32> to tensor<128x32xf16>
    %dq1 = tt.dot %h, %k, %dq : tensor<128x32xf16> * tensor<32x64xf16> -> tensor<128x64xf32>
    scf.yield %dq1 : tensor<128x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<128x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// With four descriptors each, they stay in registers.
// CHECK-LABEL: tt.func @few
// CHECK-NOT: -2147483648
// CHECK: ptx.wgmma
// CHECK-NOT: -2147483648
// CHECK: tt.return
tt.func public @few(%n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}, %y: !ptx.tensor_map {ttg.tensor_map = #map})
    attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %sum = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %step = arith.constant 64 : i32
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %g = ttg.descriptor_load %x[%c64, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %step iter_args(%dq = %sum) -> (tensor<64x64xf32>) : i32 {
    %k = ttg.descriptor_load %y[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %v = ttg.descriptor_load %y[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %kt = tt.trans %k {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %q, %kt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %vt = tt.trans %v {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %dp = tt.dot %g, %vt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %ds = arith.mulf %s, %dp : tensor<64x64xf32>
    %h = arith.truncf %ds : tensor<64x64xf32> to tensor<64x64xf16>
    %dq1 = tt.dot %h, %k, %dq : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %dq1 : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
