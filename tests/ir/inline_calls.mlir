// RUN: tilewright-opt %s --inline-calls -split-input-file -verify-diagnostics | FileCheck %s

// == a callee's body replaces the call, and the callee is removed
// CHECK-LABEL: tt.func public @calls(%arg0: i32, %arg1: !tt.ptr<i32>)
// CHECK: %[[SQUARE:.*]] = arith.muli %arg0, %arg0
// CHECK: %[[FOURTH:.*]] = arith.muli %[[SQUARE]], %[[SQUARE]]
// CHECK: tt.store %arg1, %[[FOURTH]]
// CHECK-NOT: @square
tt.func public @calls(%n: i32, %p: !tt.ptr<i32>) {
  %a = tt.call @fourth(%n) : (i32) -> i32
  tt.store %p, %a : !tt.ptr<i32>
  tt.return
}
tt.func private @square(%x: i32) -> i32 {
  %y = arith.muli %x, %x : i32
  tt.return %y : i32
}
tt.func private @fourth(%x: i32) -> i32 attributes {noinline = true} {
  %y = tt.call @square(%x) : (i32) -> i32
  %z = tt.call @square(%y) : (i32) -> i32
  tt.return %z : i32
}

// -----

// == an early return becomes scf.if, also in a callee inside of a loop
// CHECK-LABEL: tt.func public @early
// CHECK-NOT: cf.
// CHECK: scf.if
// CHECK: scf.for
// CHECK: %[[R:.*]] = scf.if {{.*}} -> (i32)
// CHECK: tt.store %arg1, %[[R]]
tt.func public @early(%n: i32, %p: !tt.ptr<i32>) {
  %c7 = arith.constant 7 : i32
  %stop = arith.cmpi eq, %n, %c7 : i32
  cf.cond_br %stop, ^end, ^go
^end:
  tt.return
^go:
  scf.for %i = %c7 to %n step %c7 : i32 {
    %v = tt.call @choose(%i) : (i32) -> i32
    tt.store %p, %v : !tt.ptr<i32>
  }
  tt.return
^unreached:
  tt.return
}
tt.func private @choose(%x: i32) -> i32 {
  %c3 = arith.constant 3 : i32
  %big = arith.cmpi sgt, %x, %c3 : i32
  cf.cond_br %big, ^yes, ^no
^yes:
  tt.return %x : i32
^no:
  tt.return %c3 : i32
}

// -----

// == a call in the region of a reduction
// CHECK-LABEL: tt.func public @combine
// CHECK: tt.reduce
// CHECK: arith.addf
// CHECK-NEXT: tt.reduce.return
tt.func public @combine(%x: tensor<16xf32>, %p: !tt.ptr<f32>) {
  %s = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = tt.call @add(%a, %b) : (f32, f32) -> f32
    tt.reduce.return %c : f32
  }) : (tensor<16xf32>) -> f32
  tt.store %p, %s : !tt.ptr<f32>
  tt.return
}
tt.func private @add(%a: f32, %b: f32) -> f32 {
  %c = arith.addf %a, %b : f32
  tt.return %c : f32
}

// -----

tt.func public @kernel(%n: i32) {
  %r = tt.call @down(%n) : (i32) -> i32
  tt.return
}
tt.func private @down(%n: i32) -> i32 {
  // expected-error @+1 {{@down calls itself}}
  %r = tt.call @down(%n) : (i32) -> i32
  tt.return %r : i32
}

// -----

// == two nested returns: branches on a number, and not a switch on an index
// CHECK-LABEL: tt.func public @returns
// CHECK-NOT: index
// CHECK: scf.if
// CHECK-NOT: index
// CHECK: tt.return
tt.func public @returns(%a: i1, %b: i1, %p: !tt.ptr<i32>, %n: i32) {
  cf.cond_br %a, ^one, ^two
^one:
  tt.store %p, %n : !tt.ptr<i32>
  cf.cond_br %b, ^end, ^two
^end:
  tt.return
^two:
  %q = tt.addptr %p, %n : !tt.ptr<i32>, i32
  tt.store %q, %n : !tt.ptr<i32>
  tt.return
}
