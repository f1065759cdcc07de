// RUN: tilewright opt %s --allocate-shared --prepare-lowering --order-accesses --lower-to-threads | FileCheck %s

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
