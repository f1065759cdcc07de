// RUN: tilewright opt %s --allocate-shared --prepare-lowering --order-accesses --lower-to-threads -split-input-file | FileCheck %s

#row = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
// two registers, five butterfly shuffles of totals, and two exchanges between warps of one total for each thread
// CHECK-LABEL: tt.func @cumsum
// CHECK-SAME: sharedBytes = 512
// CHECK: arith.addi
// CHECK-COUNT-5: ptx.shuffle bfly
// CHECK-COUNT-2: ptx.barrier
// CHECK: ptx.load_shared
// CHECK: ptx.store_shared
// CHECK: ptx.load_shared
// CHECK-NOT: ptx.barrier
tt.func public @cumsum(%x: !tt.ptr<i32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #row>
  %s = "tt.scan"(%i) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    tt.scan.return %c : i32
  }) : (tensor<256xi32, #row>) -> tensor<256xi32, #row>
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #row>
  tt.store %p, %s : tensor<256x!tt.ptr<i32>, #row>
  tt.return
}

// -----

#wide = #ttg.layout<256, reg [[1], [2], [4]], lane [[8], [16], [32], [64], [128]], warp []>
// eight elements of a thread, one after another: 7; four totals and what precedes a thread at four lane bits: 8; what precedes it into its elements: 8
// CHECK-LABEL: tt.func @elements_of_a_thread
// CHECK-COUNT-23: arith.ori {{.*}} : i32
// CHECK-NOT: arith.ori {{.*}} : i32
// CHECK: tt.return
tt.func public @elements_of_a_thread(%x: !tt.ptr<i32>) attributes {"ttg.config" = #ttg.config<warps = 1, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %p = tt.splat %x : !tt.ptr<i32> -> tensor<256x!tt.ptr<i32>, #wide>
  %i = tt.load %p : tensor<256x!tt.ptr<i32>, #wide>
  %s = "tt.scan"(%i) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%a: i32, %b: i32):
    %c = arith.ori %a, %b : i32
    tt.scan.return %c : i32
  }) : (tensor<256xi32, #wide>) -> tensor<256xi32, #wide>
  tt.store %p, %s : tensor<256x!tt.ptr<i32>, #wide>
  tt.return
}
