// RUN: tilewright opt %s --prepare-lowering --order-accesses -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// Two arguments are assumed disjoint; another thread's store to the same argument comes before the load.
// CHECK-LABEL: tt.func public @arguments
// CHECK-SAME: argument 0 and argument 1 do not overlap
// CHECK: tt.store %arg0
// CHECK-NEXT: tt.load %arg1
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: tt.load %arg0
tt.func public @arguments(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %v: f32) attributes {ttg.config = #config} {
  tt.store %x, %v : !tt.ptr<f32>
  %a = tt.load %y : !tt.ptr<f32>
  %b = tt.load %x : !tt.ptr<f32>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// In the next iteration, the load comes after this iteration's store.
// CHECK-LABEL: tt.func public @iterations
// CHECK: scf.for
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: tt.load
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: tt.store
tt.func public @iterations(%x: !tt.ptr<f32>, %n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  scf.for %i = %zero to %n step %one : i32 {
    %a = tt.load %x : !tt.ptr<f32>
    tt.store %x, %a : !tt.ptr<f32>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">

// A release waits for the writes of all threads of the program, in both CTAs. An acquire does not.
// CHECK-LABEL: tt.func public @releases
// CHECK: tt.store
// CHECK-NEXT: tt.atomic_rmw add, acquire
// CHECK-NEXT: ttg.cta_barrier {allCtas}
// CHECK-NEXT: tt.atomic_rmw add, release
tt.func public @releases(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %v: i32, %t: i1) attributes {ttg.config = #config} {
  tt.store %x, %v : !tt.ptr<i32>
  %a = tt.atomic_rmw add, acquire, gpu, %y, %v, %t : (!tt.ptr<i32>, i32, i1) -> i32
  %b = tt.atomic_rmw add, release, gpu, %y, %v, %t : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// One thread tries to take the lock. What the program has written is visible before.
// CHECK-LABEL: tt.func public @lock
// CHECK: tt.store
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: scf.while
// CHECK-NOT: ttg.cta_barrier
// CHECK: attributes {ttg.spin, ttg.spin_lock}
tt.func public @lock(%x: !tt.ptr<i32>, %lock: !tt.ptr<i32>, %v: i32) attributes {ttg.config = #config} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  tt.store %x, %v : !tt.ptr<i32>
  scf.while : () -> () {
    %old = tt.atomic_cas acq_rel, gpu, %lock, %zero, %one : (!tt.ptr<i32>, i32, i32) -> i32
    %taken = arith.cmpi ne, %old, %zero : i32
    scf.condition(%taken)
  } do {
    scf.yield
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// The barrier before the partitions is one of all warps. Afterwards each partition orders its own accesses.
// CHECK-LABEL: tt.func public @partitions
tt.func public @partitions(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %v: f32) attributes {ttg.config = #config} {
  // CHECK: tt.store
  // CHECK-NEXT: ttg.cta_barrier {allWarps}
  // CHECK-NEXT: ttg.warp_specialize
  tt.store %x, %v : !tt.ptr<f32>
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24>}
  default {
    // CHECK-NOT: cta_barrier
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    // CHECK: tt.load
    // CHECK-NOT: cta_barrier
    %b = tt.load %x : !tt.ptr<f32>
    ttg.warp_return
  } : () -> ()
  tt.return
}
