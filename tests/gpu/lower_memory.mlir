// RUN: tilewright opt %s --allocate-shared --prepare-lowering --order-accesses --lower-to-threads -split-input-file -verify-diagnostics | FileCheck %s

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

// -----

// Each bit of an element's index is one bit of its index in the view, which has padding. Here the swizzle moves columns 2 and 3 to the padding.
#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_100a">
#half = #ttg.shared<64x4, offset [[1, 0], [2, 0], [4, 0], [8, 0], [0, 0], [16, 0], [0, 1], [0, 2], [32, 0]], 8>
#whole = #ttg.shared<128x4, offset [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [0, 1], [16, 2], [64, 0]], 8>
#plain = #ttg.shared<128x4, offset [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [0, 1], [0, 2], [64, 0]], 8>
tt.func public @swizzled_padding() attributes {ttg.config = #config, ttg.shared_bytes = 512 : i64} {
  %tile = ttg.alloc {ttg.offset = 0 : i64} : !ttg.buffer<1 x i8, #half>
  %plain = ttg.view %tile {order = array<i32>} : <1 x i8, #half> -> <1 x i8, #plain>
  // expected-error @+1 {{its elements are not those of its buffer}}
  %whole = ttg.view %tile {order = array<i32>} : <1 x i8, #half> -> <1 x i8, #whole>
  tt.return
}
