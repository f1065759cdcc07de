// RUN: tilewright-opt %s --simplify -split-input-file | FileCheck %s
// RUN: tilewright-opt %s --simplify -split-input-file --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LINE

// == a part that is equal for all elements becomes a scalar, and is added to the base
// CHECK-LABEL: @to_the_base(%arg0: !tt.ptr<f32>, %arg1: tensor<8x1xi32>, %arg2: i64)
// CHECK: %[[B:.*]] = tt.addptr %arg0, %arg2 : !tt.ptr<f32>, i64
// CHECK: %[[S:.*]] = tt.splat %[[B]] : !tt.ptr<f32> -> tensor<8x1x!tt.ptr<f32>>
// CHECK: %[[P:.*]] = tt.addptr %[[S]], %arg1
// CHECK: tt.broadcast %[[P]]
tt.func @to_the_base(%p: !tt.ptr<f32>, %rows: tensor<8x1xi32>, %d: i64) -> tensor<8x4x!tt.ptr<f32>> {
  %0 = tt.splat %p : !tt.ptr<f32> -> tensor<8x1x!tt.ptr<f32>>
  %1 = tt.addptr %0, %rows : tensor<8x1x!tt.ptr<f32>>, tensor<8x1xi32>
  %2 = tt.broadcast %1 : tensor<8x1x!tt.ptr<f32>> -> tensor<8x4x!tt.ptr<f32>>
  %3 = tt.splat %d : i64 -> tensor<8x4xi64>
  %4 = tt.addptr %2, %3 : tensor<8x4x!tt.ptr<f32>>, tensor<8x4xi64>
  tt.return %4 : tensor<8x4x!tt.ptr<f32>>
}

// -----

// == offsets are added to one another only as i64: i32 would wrap around earlier
// CHECK-LABEL: @wrap
// CHECK: tt.addptr
// CHECK: tt.addptr
// CHECK: tt.return
tt.func @wrap(%p: !tt.ptr<f32>, %a: i32, %b: i32) -> !tt.ptr<f32> {
  %0 = tt.addptr %p, %a : !tt.ptr<f32>, i32
  %1 = tt.addptr %0, %b : !tt.ptr<f32>, i32
  tt.return %1 : !tt.ptr<f32>
}

// -----

// == an addition to a dot whose accumulator is zero becomes the accumulator; the location is that of the dot, for profilers
// LINE: tt.dot %{{.*}}loc("product":7:0)
// CHECK-LABEL: @accumulate
// CHECK: %[[D:.*]] = tt.dot %arg0, %arg0, %arg1
// CHECK-NEXT: tt.return %[[D]]
tt.func @accumulate(%a: tensor<16x16xf32>, %acc: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %d = tt.dot %a, %a, %zero : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32> loc("product":7:0)
  %s = arith.addf %acc, %d : tensor<16x16xf32> loc("sum":8:0)
  tt.return %s : tensor<16x16xf32>
}

// -----

// == masks that are known, and a select that becomes a load's other value
// CHECK-LABEL: @masks(%arg0: tensor<8x!tt.ptr<f32>>, %arg1: tensor<8xi1>, %arg2: tensor<8xf32>)
// CHECK: tt.load %arg0 : tensor<8x!tt.ptr<f32>>
// CHECK: tt.load %arg0, %arg1, %arg2 : tensor<8x!tt.ptr<f32>>
// CHECK-NOT: arith.select
// CHECK: tt.store
// CHECK-NOT: tt.store
tt.func @masks(%p: tensor<8x!tt.ptr<f32>>, %m: tensor<8xi1>, %x: tensor<8xf32>) {
  %yes = arith.constant dense<true> : tensor<8xi1>
  %no = arith.constant dense<false> : tensor<8xi1>
  %a = tt.load %p, %yes, %x : tensor<8x!tt.ptr<f32>>
  %b = tt.load %p, %m : tensor<8x!tt.ptr<f32>>
  %c = arith.select %m, %b, %x : tensor<8xi1>, tensor<8xf32>
  %d = arith.addf %a, %c : tensor<8xf32>
  tt.store %p, %d, %no : tensor<8x!tt.ptr<f32>>
  tt.store %p, %d, %yes : tensor<8x!tt.ptr<f32>>
  tt.return
}

// -----

// == loop-invariant operations are moved out of the loop; accesses to memory and operations that may trap stay
// CHECK-LABEL: @invariant
// CHECK: tt.make_range
// CHECK: arith.muli
// CHECK: scf.for
// CHECK: arith.divsi
// CHECK: tt.load
tt.func @invariant(%p: !tt.ptr<i32>, %n: i32, %out: tensor<8x!tt.ptr<i32>>) {
  %zero = arith.constant 0 : i32
  scf.for %i = %zero to %n step %n : i32 {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %s = arith.muli %r, %r : tensor<8xi32>
    %q = arith.divsi %n, %n : i32
    %x = tt.load %p : !tt.ptr<i32>
    %y = arith.addi %q, %x : i32
    %z = tt.splat %y : i32 -> tensor<8xi32>
    %v = arith.addi %s, %z : tensor<8xi32>
    tt.store %out, %v : tensor<8x!tt.ptr<i32>>
  }
  tt.return
}

// -----

// == tiles folded by shape
// CHECK-LABEL: @shapes(%arg0: tensor<4x8xf32>, %arg1: f32)
// CHECK: %[[S:.*]] = tt.splat %arg1 : f32 -> tensor<8x4xf32>
// CHECK: tt.return %arg0, %[[S]]
tt.func @shapes(%x: tensor<4x8xf32>, %y: f32) -> (tensor<4x8xf32>, tensor<8x4xf32>) {
  %t = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  %u = tt.trans %t {order = array<i32: 1, 0>} : tensor<8x4xf32> -> tensor<4x8xf32>
  %s = tt.splat %y : f32 -> tensor<4xf32>
  %e = tt.expand_dims %s {axis = 0 : i32} : tensor<4xf32> -> tensor<1x4xf32>
  %b = tt.broadcast %e : tensor<1x4xf32> -> tensor<8x4xf32>
  tt.return %u, %b : tensor<4x8xf32>, tensor<8x4xf32>
}
