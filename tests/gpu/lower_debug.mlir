// RUN: tilewright opt %s --prepare-lowering --order-accesses --lower-to-threads -split-input-file | FileCheck %s

#row = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
// every thread prints a scalar
// CHECK-LABEL: tt.func @print
// CHECK-NOT: scf.if
// CHECK: ptx.print "pid (%u, %u, %u) program: 100%%\0A"
// CHECK-COUNT-2: ptx.print "pid (%u, %u, %u) idx (%3u) x: %d\0A"
tt.func public @print() attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  tt.print " program: 100%" {hex = false, isSigned = array<i32>}
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #row>
  tt.print " x: " {hex = false, isSigned = array<i32: 1>} : %i : tensor<256xi32, #row>
  tt.return
}

// -----

// CHECK-LABEL: tt.func @assert
// CHECK: ptx.assert_fail "small", {{.*}}, "assert", {{.*}} if
tt.func public @assert(%c: i1) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  tt.assert %c, "small" : i1
  tt.return
}

// -----

#row = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
// two bytes share a word
// CHECK-LABEL: tt.func @packed
// CHECK: ptx.pack {{.*}} -> i16
// CHECK: ptx.inline "lop3 $0, $1", "=r,r" true
// CHECK: ptx.unpack
tt.func public @packed(%x: !tt.ptr<i8>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %p = tt.splat %x : !tt.ptr<i8> -> tensor<256x!tt.ptr<i8>, #row>
  %v = tt.load %p : tensor<256x!tt.ptr<i8>, #row>
  %w = tt.elementwise_inline_asm "lop3 $0, $1" {constraints = "=r,r", packed_element = 2 : i32, pure = true} %v : tensor<256xi8, #row> -> tensor<256xi8, #row>
  tt.store %p, %w : tensor<256x!tt.ptr<i8>, #row>
  tt.return
}
