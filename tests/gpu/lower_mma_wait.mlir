// RUN: tilewright opt %s --prepare-lowering --order-accesses --lower-to-threads -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#two = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>

// Values to be computed before a wait are its last ones, in whatever order the wait has them. Others, as accumulators, come first.
// CHECK-LABEL: tt.func @order
// CHECK: %[[sum:.*]]:2 = ptx.load_global
// CHECK: %[[first:.*]] = arith.mulf
// CHECK: %[[second:.*]] = arith.mulf
// CHECK: %[[r:.*]]:4 = ptx.wgmma_wait 1, %[[sum]]#0, %[[sum]]#1, %[[first]], %[[second]] : {{.*}} {computeBeforeWait = 2 : i32}
// CHECK: ptx.store_global {{.*}}, %[[r]]#2, %[[r]]#3
// CHECK: ptx.store_global {{.*}}, %[[r]]#0, %[[r]]#1
tt.func public @order(%x: !tt.ptr<f32>, %f: f32) attributes {ttg.config = #config} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #two>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>, #two>
  %q = tt.addptr %p, %i : tensor<256x!tt.ptr<f32>, #two>, tensor<256xi32, #two>
  %sum = tt.load %q {ttg.vector = 2 : i32} : tensor<256x!tt.ptr<f32>, #two>
  %b = tt.splat %f : f32 -> tensor<256xf32, #two>
  %e = arith.mulf %b, %b : tensor<256xf32, #two>
  %r:2 = ttg.mma_async_wait 1, %e, %sum : tensor<256xf32, #two>, tensor<256xf32, #two> -> tensor<256xf32, #two>, tensor<256xf32, #two>
  tt.store %q, %r#0 {ttg.vector = 2 : i32} : tensor<256x!tt.ptr<f32>, #two>
  tt.store %q, %r#1 {ttg.vector = 2 : i32} : tensor<256x!tt.ptr<f32>, #two>
  tt.return
}
