// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// The masked store becomes an unrolled loop without masks, and a masked remainder. One check outside the loops decides on non-temporal stores,
// and only the unrolled loop has a version for them. If %out overlaps %x, one simple loop loads all of x, and another one stores it.
// CHECK-LABEL: llvm.func internal @masked.program
// CHECK: %[[LARGE:.*]] = arith.cmpi sgt
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq
// CHECK: %[[STREAMS:.*]] = arith.andi %[[LARGE]], %[[ALIGNED]] : i1
// CHECK: scf.if %[[STREAMS]]
// CHECK: scf.for
// CHECK-NOT: masked
// CHECK-COUNT-4: nontemporal
// CHECK: else
// CHECK: scf.for
// CHECK-NOT: masked
// CHECK-NOT: nontemporal
// CHECK: scf.for
// CHECK-NOT: masked
// CHECK-NOT: nontemporal
// CHECK: scf.for
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
// CHECK-NOT: masked
// CHECK: else
// CHECK-NOT: nontemporal
// CHECK-COUNT-1: llvm.intr.masked.load
// CHECK-NOT: masked
// CHECK: scf.for
// CHECK: llvm.intr.masked.store
// CHECK-NOT: masked
// CHECK: llvm.return
tt.func public @masked(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %b = tt.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %r, %b : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp, %m : tensor<1024x!tt.ptr<f32>>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %v, %m : tensor<1024x!tt.ptr<f32>>
  tt.return
}
