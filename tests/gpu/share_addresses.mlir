// RUN: tilewright opt %s --cse-addresses | FileCheck %s

// registers at constant distances share one address; the distances are immediates of the instructions
// CHECK-LABEL: tt.func @rows
// CHECK-SAME: (%[[X:.*]]: i64, %[[I:.*]]: i32, %[[S:.*]]: i32)
tt.func @rows(%x: i64, %i: i32, %s: i32) {
  %c4 = arith.constant 4 : i64
  %c128 = arith.constant 128 : i32
  // CHECK: %[[WIDE:.*]] = arith.extsi %[[I]]
  // CHECK: %[[BYTES:.*]] = arith.muli %[[WIDE]]
  // CHECK: %[[FIRST:.*]] = arith.addi %[[X]], %[[BYTES]]
  %w0 = arith.extsi %i {ttg.no_wrap} : i32 to i64
  %b0 = arith.muli %w0, %c4 : i64
  %p0 = arith.addi %x, %b0 : i64
  %j = arith.addi %i, %c128 : i32
  %w1 = arith.extsi %j {ttg.no_wrap} : i32 to i64
  %b1 = arith.muli %w1, %c4 : i64
  %p1 = arith.addi %x, %b1 : i64
  // CHECK: ptx.load_global %[[FIRST]] -> f32
  %a = ptx.load_global %p0 -> f32
  // CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c512
  // CHECK: ptx.load_global %[[SECOND]] -> f32
  %b = ptx.load_global %p1 -> f32
  // CHECK: ptx.store_global %[[FIRST]]
  ptx.store_global %p0, %b : f32
  // a distance that is equal in all threads: one multiplication for the warp
  // CHECK: %[[S64:.*]] = arith.extsi %[[S]]
  // CHECK: %[[DISTANCE:.*]] = arith.muli %[[S64]], %c4
  // CHECK: %[[THIRD:.*]] = arith.addi %[[FIRST]], %[[DISTANCE]]
  // CHECK: ptx.store_global %[[THIRD]], %{{.*}} : f32
  %k = arith.addi %i, %s : i32
  %w2 = arith.extsi %k {ttg.no_wrap} : i32 to i64
  %b2 = arith.muli %w2, %c4 : i64
  %p2 = arith.addi %x, %b2 : i64
  ptx.store_global %p2, %a : f32
  tt.return
}

// offsets that may have wrapped around: each address is computed separately
// CHECK-LABEL: tt.func @wrapping
// CHECK-SAME: (%[[X:.*]]: i64, %{{.*}}: i32)
tt.func @wrapping(%x: i64, %i: i32) {
  %c4 = arith.constant 4 : i64
  %c128 = arith.constant 128 : i32
  // CHECK: %[[FIRST:.*]] = arith.addi %[[X]],
  %w0 = arith.extsi %i : i32 to i64
  %b0 = arith.muli %w0, %c4 : i64
  %p0 = arith.addi %x, %b0 : i64
  // CHECK: %[[SECOND:.*]] = arith.addi %[[X]],
  %j = arith.addi %i, %c128 : i32
  %w1 = arith.extsi %j : i32 to i64
  %b1 = arith.muli %w1, %c4 : i64
  %p1 = arith.addi %x, %b1 : i64
  // CHECK: ptx.load_global %[[FIRST]] -> f32
  // CHECK: ptx.store_global %[[SECOND]]
  %a = ptx.load_global %p0 -> f32
  ptx.store_global %p1, %a : f32
  tt.return
}

// differences of rows and columns: one subtraction serves all at constant distances, even where the sums wrap around
// CHECK-LABEL: tt.func @differences
// CHECK-SAME: (%[[P:.*]]: i64, %[[M:.*]]: i32, %[[N:.*]]: i32)
tt.func @differences(%p: i64, %m: i32, %n: i32) {
  %c8 = arith.constant 8 : i32
  %m8 = arith.addi %m, %c8 : i32
  %n8 = arith.addi %n, %c8 : i32
  // CHECK: %[[FIRST:.*]] = arith.subi %[[M]], %[[N]]
  // CHECK-NOT: arith.subi
  // CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c8
  // CHECK: ptx.store_global %[[P]], %[[FIRST]]
  // CHECK: ptx.store_global %[[P]], %[[FIRST]]
  // CHECK: ptx.store_global %[[P]], %[[NEXT]]
  %a = arith.subi %m, %n : i32
  %b = arith.subi %m8, %n8 : i32
  %c = arith.subi %m8, %n : i32
  ptx.store_global %p, %a : i32
  ptx.store_global %p, %b : i32
  ptx.store_global %p, %c : i32
  tt.return
}
