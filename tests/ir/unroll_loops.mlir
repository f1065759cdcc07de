// RUN: tilewright-opt %s --unroll-loops -split-input-file | FileCheck %s

// == two bodies, the second on the values that the first would have yielded, and a loop for the rest, which is not pipelined
// CHECK-LABEL: @sum(%arg0: i32, %arg1: i32, %arg2: f32, %arg3: f32)
// CHECK: %[[RUNS:.*]] = arith.cmpi slt, %arg0, %arg1
// CHECK: %[[END:.*]] = arith.addi %arg0
// CHECK: %[[MIDDLE:.*]] = arith.select {{.*}}, {{.*}}, %[[END]]
// CHECK: %[[R:.*]]:2 = scf.for %[[I:.*]] = %arg0 to %[[MIDDLE]] step %c4_i32{{.*}} iter_args(%[[A:.*]] = %arg2, %[[B:.*]] = %arg3)
// CHECK: %[[F:.*]] = arith.sitofp %[[I]]
// CHECK: %[[S:.*]] = arith.addf %[[A]], %[[F]]
// CHECK: %[[J:.*]] = arith.addi %[[I]], %c2_i32
// CHECK: %[[G:.*]] = arith.sitofp %[[J]]
// CHECK: %[[T:.*]] = arith.addf %[[B]], %[[G]]
// CHECK: scf.yield %[[S]], %[[T]]
// CHECK-NOT: tt.loop_unroll_factor
// CHECK: scf.for {{.*}} = %[[MIDDLE]] to %arg1 step %c2_i32 iter_args({{.*}} = %[[R]]#0, {{.*}} = %[[R]]#1)
// CHECK: } {tt.num_stages = 1 : i32}
tt.func @sum(%low: i32, %high: i32, %x: f32, %y: f32) -> (f32, f32) {
  %two = arith.constant 2 : i32
  %r:2 = scf.for %i = %low to %high step %two iter_args(%a = %x, %b = %y) -> (f32, f32) : i32 {
    %f = arith.sitofp %i : i32 to f32
    %s = arith.addf %a, %f : f32
    scf.yield %b, %s : f32, f32
  } {tt.loop_unroll_factor = 2 : i32}
  tt.return %r#0, %r#1 : f32, f32
}

// -----

// == the counts of unsigned loops are compared as unsigned numbers; a loop with known bounds needs no arithmetic
// CHECK-LABEL: @known
// CHECK: arith.cmpi ugt, %arg1, %c1_i32
// CHECK: scf.for unsigned
// CHECK: scf.for %{{.*}} = %c1_i32 to %c9_i32{{.*}} step %c4_i32
// CHECK-COUNT-4: tt.atomic_rmw
// CHECK: scf.for %{{.*}} = %c9_i32{{.*}} to %c10_i32 step %c1_i32
// CHECK-COUNT-1: tt.atomic_rmw
tt.func @known(%p: !tt.ptr<i32>, %n: i32) {
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %true = arith.constant true
  scf.for unsigned %i = %one to %n step %one : i32 {
    tt.store %p, %i : !tt.ptr<i32>
  } {tt.loop_unroll_factor = 3 : i32}
  scf.for %i = %one to %ten step %one : i32 {
    %old = tt.atomic_rmw add, acq_rel, gpu, %p, %i, %true : (!tt.ptr<i32>, i32, i1) -> i32
  } {tt.loop_unroll_factor = 4 : i32}
  tt.return
}

// -----

// == the groups of six iterations over all numbers of a type: the last group starts at 2^30, and would end beyond 2^31
// CHECK-LABEL: @limits
// CHECK: scf.for %{{.*}} = %c-2147483648_i32 to %c1073741824_i32 step %c1610612736_i32
// CHECK: scf.for %{{.*}} = %c1073741824_i32 to %c2147483647_i32 step %c805306368_i32
tt.func @limits(%p: !tt.ptr<i32>) {
  %low = arith.constant -2147483648 : i32
  %high = arith.constant 2147483647 : i32
  %step = arith.constant 805306368 : i32
  scf.for %i = %low to %high step %step : i32 {
    tt.store %p, %i : !tt.ptr<i32>
  } {tt.loop_unroll_factor = 2 : i32}
  tt.return
}

// -----

// == a factor of one or zero has no effect
// CHECK-LABEL: @once
// CHECK-COUNT-1: tt.store
// CHECK-NOT: tt.store
tt.func @once(%p: !tt.ptr<i32>, %n: i32) {
  %one = arith.constant 1 : i32
  scf.for %i = %one to %n step %one : i32 {
    tt.store %p, %i : !tt.ptr<i32>
  } {tt.loop_unroll_factor = 1 : i32}
  tt.return
}
