// RUN: tilewright-opt %s --scalarize-carried -split-input-file | FileCheck %s

// == a tile of pointers: the carried offset is i64, and each step is widened first
// CHECK-LABEL: @pointers(%arg0: tensor<64x!tt.ptr<f32>>, %arg1: i32)
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[D:.*]] = %c0_i64) -> (i64)
// CHECK: %[[S:.*]] = tt.splat %[[D]] : i64 -> tensor<64xi64>
// CHECK: %[[P:.*]] = tt.addptr %arg0, %[[S]] : tensor<64x!tt.ptr<f32>>, tensor<64xi64>
// CHECK: tt.load %[[P]]
// CHECK: %[[STEP:.*]] = arith.extsi %arg1 : i32 to i64
// CHECK: %[[NEXT:.*]] = arith.addi %[[D]], %[[STEP]] : i64
// CHECK: scf.yield %[[NEXT]] : i64
// CHECK: %[[LAST:.*]] = tt.splat %[[R]]
// CHECK: tt.addptr %arg0, %[[LAST]]
tt.func @pointers(%start: tensor<64x!tt.ptr<f32>>, %step: i32) -> tensor<64x!tt.ptr<f32>> {
  %r = scf.for %i = %step to %step step %step iter_args(%p = %start) -> (tensor<64x!tt.ptr<f32>>) : i32 {
    %v = tt.load %p : tensor<64x!tt.ptr<f32>>
    tt.store %p, %v : tensor<64x!tt.ptr<f32>>
    %s = tt.splat %step : i32 -> tensor<64xi32>
    %q = tt.addptr %p, %s : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    scf.yield %q : tensor<64x!tt.ptr<f32>>
  }
  tt.return %r : tensor<64x!tt.ptr<f32>>
}

// -----

// == integers keep their type, so they wrap around as before; steps may be constants or chains, and may differ between iterations
// CHECK-LABEL: @integers
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[D:.*]] = %c0_i32) -> (i32)
// CHECK: %[[A:.*]] = arith.addi %[[D]], %c16_i32 : i32
// CHECK: %[[B:.*]] = arith.subi %[[A]], %[[I]] : i32
// CHECK: scf.yield %[[B]]
tt.func @integers(%start: tensor<8xi32>, %n: i32, %out: tensor<8x!tt.ptr<i32>>) {
  %c16 = arith.constant dense<16> : tensor<8xi32>
  %r = scf.for %i = %n to %n step %n iter_args(%x = %start) -> (tensor<8xi32>) : i32 {
    tt.store %out, %x : tensor<8x!tt.ptr<i32>>
    %a = arith.addi %c16, %x : tensor<8xi32>
    %s = tt.splat %i : i32 -> tensor<8xi32>
    %b = arith.subi %a, %s : tensor<8xi32>
    scf.yield %b : tensor<8xi32>
  }
  tt.return
}

// -----

// == two loops: the outer tile moves by the inner loop's result
// CHECK-LABEL: @nested
// CHECK: scf.for {{.*}} iter_args(%[[OUTER:.*]] = %{{.*}}) -> (i64)
// CHECK: %[[INNER:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i64)
// CHECK: %[[NEXT:.*]] = arith.addi %[[OUTER]], %[[INNER]] : i64
// CHECK: scf.yield %[[NEXT]]
tt.func @nested(%start: tensor<8x!tt.ptr<i32>>, %n: i32) {
  %one = arith.constant dense<1> : tensor<8xi64>
  %r = scf.for %i = %n to %n step %n iter_args(%p = %start) -> (tensor<8x!tt.ptr<i32>>) : i32 {
    %q = scf.for %j = %n to %n step %n iter_args(%s = %p) -> (tensor<8x!tt.ptr<i32>>) : i32 {
      %v = tt.load %s : tensor<8x!tt.ptr<i32>>
      tt.store %p, %v : tensor<8x!tt.ptr<i32>>
      %t = tt.addptr %s, %one : tensor<8x!tt.ptr<i32>>, tensor<8xi64>
      scf.yield %t : tensor<8x!tt.ptr<i32>>
    }
    scf.yield %q : tensor<8x!tt.ptr<i32>>
  }
  tt.return
}

// -----

// == while: the condition passes the tile on unchanged
// CHECK-LABEL: @while_loop
// CHECK: scf.while (%[[B:.*]] = %c0_i64{{.*}}) : (i64) -> i64
// CHECK: scf.condition(%{{.*}}) %[[B]] : i64
// CHECK: ^bb0(%[[D:.*]]: i64):
// CHECK: %[[N:.*]] = arith.addi %[[D]]
// CHECK: scf.yield %[[N]] : i64
tt.func @while_loop(%start: tensor<8x!tt.ptr<i32>>, %flag: !tt.ptr<i1>) {
  %one = arith.constant dense<1> : tensor<8xi32>
  %r = scf.while (%p = %start) : (tensor<8x!tt.ptr<i32>>) -> tensor<8x!tt.ptr<i32>> {
    %go = tt.load %flag : !tt.ptr<i1>
    scf.condition(%go) %p : tensor<8x!tt.ptr<i32>>
  } do {
  ^bb0(%p: tensor<8x!tt.ptr<i32>>):
    %v = tt.load %p : tensor<8x!tt.ptr<i32>>
    tt.store %p, %v : tensor<8x!tt.ptr<i32>>
    %q = tt.addptr %p, %one : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
    scf.yield %q : tensor<8x!tt.ptr<i32>>
  }
  tt.return
}

// -----

// == unchanged: tiles whose elements move by different amounts, and accumulators
// CHECK-LABEL: @left_alone
// CHECK: scf.for {{.*}} -> (tensor<8x!tt.ptr<f32>>, tensor<8xf32>)
tt.func @left_alone(%start: tensor<8x!tt.ptr<f32>>, %acc: tensor<8xf32>, %n: i32) {
  %range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %r:2 = scf.for %i = %n to %n step %n iter_args(%p = %start, %a = %acc) -> (tensor<8x!tt.ptr<f32>>, tensor<8xf32>) : i32 {
    %v = tt.load %p : tensor<8x!tt.ptr<f32>>
    %b = arith.addf %a, %v : tensor<8xf32>
    %q = tt.addptr %p, %range : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    scf.yield %q, %b : tensor<8x!tt.ptr<f32>>, tensor<8xf32>
  }
  tt.return
}

// -----

// == the elements of a tile are equal in every iteration: the weight of Welford's algorithm, which a branch sets; not that of a masked one
// CHECK-LABEL: @weights
// CHECK: scf.for {{.*}} iter_args(%[[W:.*]] = %cst{{.*}}, %[[M:.*]] = %cst{{.*}}) -> (f32, tensor<8xf32>)
// CHECK: %[[TILE:.*]] = tt.splat %[[W]] : f32 -> tensor<8xf32>
// CHECK: %[[NEXT:.*]] = scf.if {{.*}} -> (f32)
// CHECK: scf.yield %{{.*}} : f32
// CHECK: arith.addf %[[W]], %{{.*}} : f32
// CHECK: tt.store %{{.*}}, %[[TILE]]
// CHECK: scf.yield %[[NEXT]], %{{.*}} : f32, tensor<8xf32>
tt.func @weights(%n: i32, %out: tensor<8x!tt.ptr<f32>>, %mask: tensor<8xi1>, %first: i1) -> tensor<8xf32> {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %r:2 = scf.for %i = %n to %n step %n iter_args(%w = %zero, %m = %zero) -> (tensor<8xf32>, tensor<8xf32>) : i32 {
    %next = scf.if %first -> (tensor<8xf32>) {
      scf.yield %one : tensor<8xf32>
    } else {
      %sum = arith.addf %w, %one : tensor<8xf32>
      scf.yield %sum : tensor<8xf32>
    }
    tt.store %out, %w : tensor<8x!tt.ptr<f32>>
    %masked = arith.select %mask, %next, %m : tensor<8xi1>, tensor<8xf32>
    scf.yield %next, %masked : tensor<8xf32>, tensor<8xf32>
  }
  tt.return %r#0 : tensor<8xf32>
}

// -----

// == an operand that is used twice becomes one scalar; two tiles change places
// CHECK-LABEL: @shared_operands
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (f32, f32)
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[A]], %[[A]] : f32
// CHECK: %[[FOURTH:.*]] = arith.mulf %[[SQUARE]], %[[SQUARE]] : f32
// CHECK-NOT: arith.mulf {{.*}} : f32
// CHECK: scf.yield %[[B]], %[[FOURTH]] : f32, f32
tt.func @shared_operands(%n: i32) -> tensor<8xf32> {
  %two = arith.constant dense<2.0> : tensor<8xf32>
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %r:2 = scf.for %i = %n to %n step %n iter_args(%a = %two, %b = %one) -> (tensor<8xf32>, tensor<8xf32>) : i32 {
    %square = arith.mulf %a, %a : tensor<8xf32>
    %fourth = arith.mulf %square, %square : tensor<8xf32>
    scf.yield %b, %fourth : tensor<8xf32>, tensor<8xf32>
  }
  tt.return %r#0 : tensor<8xf32>
}

// -----

// == equal elements in a loop in a loop, which a branch and a loop's result pass on; the tile next to them has a loaded part
// CHECK-LABEL: @equal_in_nested_loops
// CHECK: scf.for {{.*}} iter_args(%[[OUTER:.*]] = %{{.*}}, %[[V:.*]] = %{{.*}}) -> (f32, tensor<8xf32>)
// CHECK: scf.for {{.*}} iter_args(%[[INNER:.*]] = %[[OUTER]], %{{.*}} = %[[V]]) -> (f32, tensor<8xf32>)
// CHECK: %[[BRANCH:.*]] = scf.if %{{.*}} -> (f32)
// CHECK: arith.addf %[[INNER]], %{{.*}} : f32
// CHECK: scf.yield %[[BRANCH]], %{{.*}} : f32, tensor<8xf32>
// CHECK: tt.splat %{{.*}} : f32 -> tensor<8xf32>
tt.func @equal_in_nested_loops(%n: i32, %go: i1, %p: tensor<8x!tt.ptr<f32>>) -> (tensor<8xf32>, tensor<8xf32>) {
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %r:2 = scf.for %i = %n to %n step %n iter_args(%a = %one, %v = %one) -> (tensor<8xf32>, tensor<8xf32>) : i32 {
    %s:2 = scf.for %j = %n to %n step %n iter_args(%b = %a, %w = %v) -> (tensor<8xf32>, tensor<8xf32>) : i32 {
      %c = scf.if %go -> tensor<8xf32> {
        %d = arith.addf %b, %one : tensor<8xf32>
        scf.yield %d : tensor<8xf32>
      } else {
        scf.yield %b : tensor<8xf32>
      }
      %x = tt.load %p : tensor<8x!tt.ptr<f32>>
      %y = arith.addf %x, %b : tensor<8xf32>
      scf.yield %c, %y : tensor<8xf32>, tensor<8xf32>
    }
    scf.yield %s#0, %s#1 : tensor<8xf32>, tensor<8xf32>
  }
  tt.return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// == equal elements in a while loop, whose condition passes them on in another order
// CHECK-LABEL: @equal_in_while
// CHECK: scf.while (%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) : (f32, i32) -> (i32, f32)
// CHECK: scf.condition(%{{.*}}) %[[B]], %[[A]] : i32, f32
// CHECK: ^bb0(%[[C:.*]]: i32, %[[D:.*]]: f32):
// CHECK: %[[E:.*]] = arith.addf %[[D]], %{{.*}} : f32
// CHECK: scf.yield %[[E]], %[[C]] : f32, i32
tt.func @equal_in_while(%flag: !tt.ptr<i1>, %p: tensor<8x!tt.ptr<i32>>, %start: i32) -> tensor<8xf32> {
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %number = tt.splat %start : i32 -> tensor<8xi32>
  %r:2 = scf.while (%a = %one, %b = %number) : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xi32>, tensor<8xf32>) {
    %go = tt.load %flag : !tt.ptr<i1>
    scf.condition(%go) %b, %a : tensor<8xi32>, tensor<8xf32>
  } do {
  ^bb0(%c: tensor<8xi32>, %d: tensor<8xf32>):
    tt.store %p, %c : tensor<8x!tt.ptr<i32>>
    %e = arith.addf %d, %one : tensor<8xf32>
    scf.yield %e, %c : tensor<8xf32>, tensor<8xi32>
  }
  tt.return %r#1 : tensor<8xf32>
}

// -----

// == a branch moves the pointers of a loop by different amounts
// CHECK-LABEL: @branch
// CHECK: scf.for {{.*}} iter_args(%[[D:.*]] = %c0_i64) -> (i64)
// CHECK: %[[B:.*]] = scf.if %{{.*}} -> (i64)
// CHECK: %[[S:.*]] = arith.addi %c0_i64{{.*}}, %{{.*}} : i64
// CHECK: scf.yield %[[S]] : i64
// CHECK: scf.yield %c0_i64{{.*}} : i64
// CHECK: %[[N:.*]] = arith.addi %[[D]], %[[B]] : i64
// CHECK: scf.yield %[[N]] : i64
tt.func @branch(%start: tensor<8x!tt.ptr<f32>>, %n: i32, %go: i1) {
  %one = arith.constant dense<1> : tensor<8xi32>
  %r = scf.for %i = %n to %n step %n iter_args(%p = %start) -> (tensor<8x!tt.ptr<f32>>) : i32 {
    %v = tt.load %p : tensor<8x!tt.ptr<f32>>
    tt.store %p, %v : tensor<8x!tt.ptr<f32>>
    %q = scf.if %go -> tensor<8x!tt.ptr<f32>> {
      %t = tt.addptr %p, %one : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      scf.yield %t : tensor<8x!tt.ptr<f32>>
    } else {
      scf.yield %p : tensor<8x!tt.ptr<f32>>
    }
    scf.yield %q : tensor<8x!tt.ptr<f32>>
  }
  tt.return
}

// -----

// == the tile that one loop carries is the offset of another: it moves by equal amounts, but its elements differ
// CHECK-LABEL: @offset_that_moves
// CHECK: scf.for {{.*}} -> (i32, tensor<8x!tt.ptr<f32>>)
tt.func @offset_that_moves(%start: tensor<8x!tt.ptr<f32>>, %n: i32) {
  %range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %one = arith.constant dense<1> : tensor<8xi32>
  %r:2 = scf.for %i = %n to %n step %n iter_args(%o = %range, %p = %start) -> (tensor<8xi32>, tensor<8x!tt.ptr<f32>>) : i32 {
    %v = tt.load %p : tensor<8x!tt.ptr<f32>>
    tt.store %p, %v : tensor<8x!tt.ptr<f32>>
    %q = tt.addptr %p, %o : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %next = arith.addi %o, %one : tensor<8xi32>
    scf.yield %next, %q : tensor<8xi32>, tensor<8x!tt.ptr<f32>>
  }
  tt.return
}
