// RUN: tilewright opt %s --allocate-shared --prepare-lowering --order-accesses --lower-to-threads -split-input-file | FileCheck %s

#row = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
#lanes = #ttg.layout<256, reg [[32]], lane [[1], [2], [4], [8], [16]], warp [[64], [128]]>
// within warps: shuffles, without shared memory
// CHECK-LABEL: tt.func @within_warps
// CHECK-SAME: sharedBytes = 0
// CHECK: ptx.shuffle
// CHECK-NOT: ptx.barrier
tt.func public @within_warps(%x: !tt.ptr<i32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #row>
  %j = ttg.convert_layout %i : tensor<256xi32, #row> -> tensor<256xi32, #lanes>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #lanes>
  tt.store %p, %j : tensor<256x!tt.ptr<i32>, #lanes>
  tt.return
}

// -----

#rows = #ttg.layout<32x32, reg [[0, 1], [0, 2], [16, 0]], lane [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp [[4, 0], [8, 0]]>
#columns = #ttg.layout<32x32, reg [[1, 0], [2, 0], [0, 16]], lane [[4, 0], [8, 0], [16, 0], [0, 1], [0, 2]], warp [[0, 4], [0, 8]]>
// across warps: each wide access has four registers
// CHECK-LABEL: tt.func @across_warps
// CHECK-SAME: sharedBytes = 4096
// CHECK: ptx.barrier
// CHECK: ptx.store_shared
// CHECK: ptx.barrier
// CHECK: ptx.load_shared
tt.func public @across_warps(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %q = tt.splat %y : !tt.ptr<i32> -> tensor<32x32x!tt.ptr<i32>, #rows>
  %i = tt.load %q : tensor<32x32x!tt.ptr<i32>, #rows>
  %j = ttg.convert_layout %i : tensor<32x32xi32, #rows> -> tensor<32x32xi32, #columns>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<32x32x!tt.ptr<i32>, #columns>
  tt.store %p, %j : tensor<32x32x!tt.ptr<i32>, #columns>
  tt.return
}
