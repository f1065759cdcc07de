// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// ttg.warp_specialize in upstream's text form: it is parsed, and printed in the same form.

// == captures, results and registers
// CHECK-LABEL: tt.func @captures
tt.func @captures(%n: i32, %p: !tt.ptr<i32>) {
  // CHECK: %[[r:.*]]:2 = ttg.warp_specialize(%arg0, %arg1) attributes {requestedRegisters = array<i32: 24, 80>}
  // CHECK-NEXT: default {
  // CHECK-NEXT: %[[sum:.*]] = arith.addi %arg0, %arg0
  // CHECK-NEXT: ttg.warp_yield %[[sum]], %arg0 : i32, i32
  // CHECK-NEXT: }
  // CHECK-NEXT: partition0(%[[m:.*]]: i32, %[[q:.*]]: !tt.ptr<i32>) num_warps(1) {
  // CHECK-NEXT: tt.store %[[q]], %[[m]] : !tt.ptr<i32>
  // CHECK-NEXT: ttg.warp_return
  // CHECK-NEXT: }
  // CHECK-NEXT: partition1(%{{.*}}: i32, %{{.*}}: !tt.ptr<i32>) num_warps(4) {
  // CHECK-NEXT: ttg.warp_return
  // CHECK-NEXT: } : (i32, !tt.ptr<i32>) -> (i32, i32)
  // CHECK-NEXT: tt.store %arg1, %[[r]]#0
  %r:2 = ttg.warp_specialize(%n, %p) attributes {requestedRegisters = array<i32: 24, 80>}
  default {
    %sum = arith.addi %n, %n : i32
    ttg.warp_yield %sum, %n : i32, i32
  }
  partition0(%m: i32, %q: !tt.ptr<i32>) num_warps(1) {
    tt.store %q, %m : !tt.ptr<i32>
    ttg.warp_return
  }
  partition1(%m: i32, %q: !tt.ptr<i32>) num_warps(4) {
    ttg.warp_return
  } : (i32, !tt.ptr<i32>) -> (i32, i32)
  tt.store %p, %r#0 : !tt.ptr<i32>
  tt.return
}

// == partitions may also use values from outside
// CHECK-LABEL: tt.func @implicit
tt.func @implicit(%n: i32, %p: !tt.ptr<i32>) {
  // CHECK: ttg.warp_specialize()
  // CHECK-NEXT: default {
  // CHECK-NEXT: ttg.warp_yield
  // CHECK-NEXT: }
  // CHECK-NEXT: partition0() num_warps(2) {
  // CHECK-NEXT: tt.store %arg1, %arg0
  // CHECK-NEXT: ttg.warp_return
  // CHECK-NEXT: } : () -> ()
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(2) {
    tt.store %p, %n : !tt.ptr<i32>
    ttg.warp_return
  } : () -> ()
  tt.return
}
