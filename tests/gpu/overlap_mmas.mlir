// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops --copy-unpipelined --schedule-mmas --overlap-mmas --allocate-shared --insert-barriers -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// Attention backward: the second scores start after the first ones, before the exponential, on which they do not depend. The wait for their copy
// moves with them; one wait serves both accumulators. The row's load starts before any MMA.
// CHECK-LABEL: tt.func public @backward
// CHECK: scf.for
// CHECK: tt.load
// CHECK: %[[scores:.*]] = ttg.mma_async
// CHECK-NEXT: ttg.barrier_wait
// CHECK-NEXT: ttg.view
// CHECK-NEXT: %[[more:.*]] = ttg.mma_async
// CHECK: %[[s:.*]] = ttg.mma_async_wait 1, %[[scores]]
// CHECK: math.exp2 %[[s]]
// CHECK: %[[first:.*]] = ttg.mma_async
// CHECK: %[[m:.*]] = ttg.mma_async_wait 1, %[[more]]
// CHECK: arith.mulf {{.*}}%[[m]]
// CHECK: %[[second:.*]] = ttg.mma_async
// CHECK: ttg.mma_async_wait 0, %[[second]], %[[first]]
// CHECK-NEXT: ttg.cta_barrier
// CHECK: scf.yield
tt.func public @backward(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %rows: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map},
    %y: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %k = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %v = ttg.descriptor_load %x[%c64, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %r:2 = scf.for %i = %c0 to %n step %c64 iter_args(%dv = %zero, %dk = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) : i32 {
    %q = ttg.descriptor_load %y[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %qt = tt.trans %q {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %k, %qt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    %g = ttg.descriptor_load %y[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %dv1 = tt.dot %w, %g, %dv : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %gt = tt.trans %g {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %dp = tt.dot %v, %gt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %starts = tt.splat %rows : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %places = tt.addptr %starts, %range : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %row = tt.load %places : tensor<64x!tt.ptr<f32>>
    %wide = tt.expand_dims %row {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %all = tt.broadcast %wide : tensor<1x64xf32> -> tensor<64x64xf32>
    %ds = arith.mulf %e, %dp : tensor<64x64xf32>
    %dd = arith.mulf %ds, %all : tensor<64x64xf32>
    %h = arith.truncf %dd : tensor<64x64xf32> to tensor<64x64xf16>
    %dk1 = tt.dot %h, %q, %dk : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %twice = arith.addf %dk1, %dk1 : tensor<64x64xf32>
    scf.yield %dv1, %twice : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %both = arith.addf %r#0, %r#1 : tensor<64x64xf32>
  tt.store %out, %both : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[128]]], box = [], element = f16, swizzle = 0>

// Two accumulators of 128 registers leave no registers for an MMA that starts early, nor for its operand.
// CHECK-LABEL: tt.func public @full
// CHECK: scf.for
// CHECK: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK: scf.yield
tt.func public @full(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %k = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
  %r = scf.for %i = %c0 to %n step %c128 iter_args(%sum = %zero) -> (tensor<128x128xf32>) : i32 {
    %q = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %qt = tt.trans %q {order = array<i32: 1, 0>} : tensor<128x64xf16> -> tensor<64x128xf16>
    %s = tt.dot %k, %qt, %zero : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
    %w = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xf16>
    %g = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<128x128xf16>
    %sum1 = tt.dot %w, %g, %sum : tensor<128x128xf16> * tensor<128x128xf16> -> tensor<128x128xf32>
    scf.yield %sum1 : tensor<128x128xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
  tt.store %out, %r : tensor<128x128x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// The last MMA accumulates in place and stays in flight across the back edge, until the next iteration's first wait. After that wait the stages of
// the previous iteration are refilled; MMAs that read this iteration's stages start before it. The exponential's result passes through the wait for
// the MMA that runs at the same time.
// CHECK-LABEL: tt.func public @runs_on
// CHECK: scf.for {{.*}} iter_args(%[[sum:.*]] = %{{.*}}, %[[slot:.*]] = %{{.*}}, %[[parity:.*]] = %{{.*}})
// CHECK: ttg.barrier_wait %{{.*}}[%[[slot]]], %[[parity]]
// CHECK-NEXT: %[[scores:.*]] = ttg.mma_async
// CHECK: ttg.barrier_wait %{{.*}}[%[[slot]]], %[[parity]]
// CHECK: %[[more:.*]] = ttg.mma_async
// CHECK: %[[s:.*]]:2 = ttg.mma_async_wait 1, %[[scores]], %[[sum]]
// CHECK-NEXT: ttg.cta_barrier
// CHECK: ttg.tma_load {{.*}} if
// CHECK: ttg.tma_load {{.*}} if
// CHECK: %[[e:.*]] = math.exp2 %[[s]]#0
// CHECK: %[[m:.*]]:2 = ttg.mma_async_wait 0, %[[more]], %[[e]] : {{.*}} {namesAll}
// CHECK: arith.mulf %[[m]]#1, %[[m]]#0
// CHECK: %[[last:.*]] = ttg.mma_async {{.*}}, %[[s]]#1
// CHECK-NOT: ttg.mma_async_wait
// CHECK: scf.yield %[[last]]
// CHECK: ttg.mma_async_wait 0
tt.func public @runs_on(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map},
    %y: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %g = ttg.descriptor_load %x[%c64, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%dq = %zero) -> (tensor<64x64xf32>) : i32 {
    %k = ttg.descriptor_load %y[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %v = ttg.descriptor_load %y[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %kt = tt.trans %k {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %q, %kt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %vt = tt.trans %v {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %dp = tt.dot %g, %vt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %ds = arith.mulf %e, %dp : tensor<64x64xf32>
    %h = arith.truncf %ds : tensor<64x64xf32> to tensor<64x64xf16>
    %dq1 = tt.dot %h, %k, %dq : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %dq1 : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
