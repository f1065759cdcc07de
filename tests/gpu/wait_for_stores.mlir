// A store that overwrites what TMA has stored waits for that: in its own arm of a branch, once for all such stores of the arm, or before the
// operation of the entry block that has it. In a loop or an arm that also has TMA stores, it waits after those. Without TMA stores nothing
// waits.
// RUN: tilewright opt %s --wait-for-stores -split-input-file | FileCheck %s

#t = #ttg.layout<16x16, reg [[0, 1], [0, 2], [0, 4]], lane [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp [[0, 0], [0, 0]]>
!tile = tensor<16x16xf16, #t>
!tiles = tensor<16x16x!tt.ptr<f16>, #t>

// CHECK-LABEL: @arms
// CHECK: ttg.descriptor_store
// CHECK-NOT: ttg.tma_store_wait
// CHECK: scf.if
// CHECK-NEXT: tt.store {{.*}}arm = "then"
// CHECK: } else {
// CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
// CHECK-NEXT: scf.for
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
// CHECK-NOT: ttg.tma_store_wait
tt.func public @arms(%map: !ptx.tensor_map, %x: !tile, %p: !tiles, %c: i1, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  ttg.descriptor_store %x to %map[%zero, %zero] {order = array<i32: 1, 0>} : !tile
  scf.if %c {
    tt.store %p, %x {arm = "then"} : !tiles
  } else {
    tt.store %p, %x {tt.overwrites} : !tiles
    scf.for %i = %zero to %n step %one : i32 {
      tt.store %p, %x {tt.overwrites} : !tiles
    }
  }
  tt.return
}

// -----

#t = #ttg.layout<16x16, reg [[0, 1], [0, 2], [0, 4]], lane [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp [[0, 0], [0, 0]]>
!tile = tensor<16x16xf16, #t>
!tiles = tensor<16x16x!tt.ptr<f16>, #t>

// CHECK-LABEL: @both
// CHECK: scf.if
// CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
// CHECK: } else {
// CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
// CHECK: ttg.tma_store_wait 0 {untilWritten}
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: scf.for
tt.func public @both(%map: !ptx.tensor_map, %x: !tile, %p: !tiles, %c: i1, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  ttg.descriptor_store %x to %map[%zero, %zero] {order = array<i32: 1, 0>} : !tile
  scf.if %c {
    tt.store %p, %x {tt.overwrites} : !tiles
  } else {
    tt.store %p, %x {tt.overwrites} : !tiles
  }
  scf.for %i = %zero to %n step %one : i32 {
    tt.store %p, %x {tt.overwrites} : !tiles
  }
  tt.return
}

// -----

#t = #ttg.layout<16x16, reg [[0, 1], [0, 2], [0, 4]], lane [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp [[0, 0], [0, 0]]>
!tile = tensor<16x16xf16, #t>
!tiles = tensor<16x16x!tt.ptr<f16>, #t>

// CHECK-LABEL: @without_tma
// CHECK-NOT: ttg.tma_store_wait
// CHECK: tt.return
tt.func public @without_tma(%x: !tile, %p: !tiles) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  tt.store %p, %x {tt.overwrites} : !tiles
  tt.return
}

// -----

#t = #ttg.layout<16x16, reg [[0, 1], [0, 2], [0, 4]], lane [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp [[0, 0], [0, 0]]>
!tile = tensor<16x16xf16, #t>
!tiles = tensor<16x16x!tt.ptr<f16>, #t>

// CHECK-LABEL: @same_iteration
// CHECK-NOT: ttg.tma_store_wait
// CHECK: scf.for
// CHECK-NEXT: ttg.descriptor_store
// CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
// CHECK-NEXT: {{^ *[}]$}}
tt.func public @same_iteration(%map: !ptx.tensor_map, %x: !tile, %p: !tiles, %c: i1, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    ttg.descriptor_store %x to %map[%zero, %zero] {order = array<i32: 1, 0>} : !tile
    tt.store %p, %x {tt.overwrites} : !tiles
    tt.store %p, %x {tt.overwrites} : !tiles
  }
  tt.return
}

// -----

#t = #ttg.layout<16x16, reg [[0, 1], [0, 2], [0, 4]], lane [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp [[0, 0], [0, 0]]>
!tile = tensor<16x16xf16, #t>
!tiles = tensor<16x16x!tt.ptr<f16>, #t>

// The TMA store is of the iteration before.
// CHECK-LABEL: @iteration_before
// CHECK: scf.for
// CHECK-NEXT: scf.if
// CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
// CHECK: ttg.descriptor_store
// CHECK-NOT: ttg.tma_store_wait
tt.func public @iteration_before(%map: !ptx.tensor_map, %x: !tile, %p: !tiles, %c: i1, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    scf.if %c {
      scf.for %j = %zero to %n step %one : i32 {
        tt.store %p, %x {tt.overwrites} : !tiles
      }
    }
    ttg.descriptor_store %x to %map[%zero, %zero] {order = array<i32: 1, 0>} : !tile
  }
  tt.return
}

// -----

#t = #ttg.layout<16x16, reg [[0, 1], [0, 2], [0, 4]], lane [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]], warp [[0, 0], [0, 0]]>
!tile = tensor<16x16xf16, #t>
!tiles = tensor<16x16x!tt.ptr<f16>, #t>

// Before the first TMA store there is nothing to wait for.
// CHECK-LABEL: @arm_with_both
// CHECK-NOT: ttg.tma_store_wait
// CHECK: scf.if
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
// CHECK-NEXT: ttg.descriptor_store
// CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
// CHECK-NEXT: ttg.descriptor_store
// CHECK-NEXT: {{^ *[}]$}}
// CHECK-NEXT: ttg.tma_store_wait 0 {untilWritten}
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: tt.store {{.*}}tt.overwrites
tt.func public @arm_with_both(%map: !ptx.tensor_map, %x: !tile, %p: !tiles, %c: i1, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.if %c {
    tt.store %p, %x {tt.overwrites} : !tiles
    ttg.descriptor_store %x to %map[%zero, %zero] {order = array<i32: 1, 0>} : !tile
    tt.store %p, %x {tt.overwrites} : !tiles
    ttg.descriptor_store %x to %map[%zero, %zero] {order = array<i32: 1, 0>} : !tile
  }
  tt.store %p, %x {tt.overwrites} : !tiles
  tt.return
}
