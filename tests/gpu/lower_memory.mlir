// RUN: tilewright opt %s --lower-to-threads -split-input-file | FileCheck %s

// one thread performs it after a barrier, and broadcasts the result
// CHECK-LABEL: tt.func @scalar
// CHECK-SAME: sharedBytes = 4
// CHECK: ptx.barrier
// CHECK: ptx.atomic add acq_rel gpu {{.*}} if
// CHECK: ptx.store_shared
// CHECK: ptx.barrier
// CHECK: ptx.load_shared
tt.func public @scalar(%x: !tt.ptr<i32>, %y: !tt.ptr<i32>, %v: i32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %t = arith.constant true
  %old = tt.atomic_rmw add, acq_rel, gpu, %x, %v, %t : (!tt.ptr<i32>, i32, i1) -> i32
  tt.store %y, %old : !tt.ptr<i32>
  tt.return
}

// -----

// CHECK-LABEL: tt.func @compare
// CHECK: ptx.compare_swap relaxed gpu {{.*}} : i32
tt.func public @compare(%x: !tt.ptr<f32>, %c: f32, %v: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %old = tt.atomic_cas relaxed, gpu, %x, %c, %v : (!tt.ptr<f32>, f32, f32) -> f32
  tt.return
}

// -----

// sm_80 has no atomic addition of bf16
// CHECK-LABEL: tt.func @loop
// CHECK: scf.while
// CHECK: ptx.compare_swap relaxed gpu {{.*}} : i16
tt.func public @loop(%x: !tt.ptr<bf16>, %v: bf16) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">} {
  %t = arith.constant true
  %old = tt.atomic_rmw fadd, relaxed, gpu, %x, %v, %t : (!tt.ptr<bf16>, bf16, i1) -> bf16
  tt.return
}

// -----

// one thread initializes consecutive mbarriers in one branch, and one fence makes them visible to all
// CHECK-LABEL: tt.func @barriers
// CHECK: scf.if
// CHECK-NOT: scf.if
// CHECK-COUNT-2: ptx.mbarrier_init %{{[^ ]*}}, 1
// CHECK: ptx.mbarrier_init %{{[^ ]*}}, 4
// CHECK: ptx.mbarrier_init_fence
// CHECK-NEXT: ptx.barrier
// CHECK-NOT: ptx.mbarrier_init
// CHECK: tt.return
tt.func public @barriers() attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %full = ttg.alloc_barriers {ttg.offset = 0 : i64} : !ttg.barriers<2>
  %zero = arith.constant 0 : i32
  %empty = ttg.alloc_barriers {arrivals = 4 : i32, ttg.offset = 16 : i64} : !ttg.barriers<1>
  ttg.barrier_wait %full[%zero], %zero : !ttg.barriers<2>
  ttg.barrier_wait %empty[%zero], %zero : !ttg.barriers<1>
  tt.return
}
