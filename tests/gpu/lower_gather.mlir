// RUN: tilewright opt %s --allocate-shared --prepare-lowering --order-accesses --lower-to-threads -split-input-file | FileCheck %s

#row = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
// CHECK-LABEL: tt.func @gather
// CHECK-SAME: sharedBytes = 1024
// CHECK: ptx.barrier
// CHECK-COUNT-2: ptx.store_shared
// CHECK: ptx.barrier
// CHECK-COUNT-2: ptx.load_shared
tt.func public @gather(%x: !tt.ptr<i32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #row>
  %c = arith.constant dense<255> : tensor<256xi32, #row>
  %j = arith.subi %c, %i : tensor<256xi32, #row>
  %g = tt.gather %i[%j] {axis = 0 : i32} : (tensor<256xi32, #row>, tensor<256xi32, #row>) -> tensor<256xi32, #row>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #row>
  tt.store %p, %g : tensor<256x!tt.ptr<i32>, #row>
  tt.return
}

// -----

#row = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
#bins = #ttg.layout<16, reg [], lane [[1], [2], [4], [8], [0]], warp [[0], [0]]>
// counters are cleared, incremented, read
// CHECK-LABEL: tt.func @histogram
// CHECK-SAME: sharedBytes = 64
// CHECK: ptx.store_shared
// CHECK: ptx.barrier
// CHECK-COUNT-2: ptx.add_shared
// CHECK: ptx.barrier
// CHECK: ptx.load_shared
tt.func public @histogram(%x: !tt.ptr<i32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #row>
  %h = tt.histogram %i : tensor<256xi32, #row> -> tensor<16xi32, #bins>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>, #bins>
  tt.store %p, %h : tensor<16x!tt.ptr<i32>, #bins>
  tt.return
}

// -----

#half = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
#whole = #ttg.layout<512, reg [[1], [256]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
// each thread has the registers of one tile, then those of the other: no data moves
// CHECK-LABEL: tt.func @cat
// CHECK-SAME: sharedBytes = 0
// CHECK-NOT: ptx.barrier
tt.func public @cat(%x: !tt.ptr<i32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #half>
  %c = tt.cat %i, %i : tensor<256xi32, #half> -> tensor<512xi32, #whole>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<512x!tt.ptr<i32>, #whole>
  tt.store %p, %c : tensor<512x!tt.ptr<i32>, #whole>
  tt.return
}
