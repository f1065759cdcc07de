// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Atomics at indices from memory: later elements of the tile are prefetched for writing. Adjacent elements need no prefetch.
// If the launch runs alone, they are plain loads and stores, without a lock.
// CHECK-LABEL: llvm.func internal @scatter.program
// CHECK: scf.if
// CHECK: llvm.load {{.*}} atomic monotonic
// CHECK-NEXT: arith.addf
// CHECK-NEXT: llvm.store {{.*}} atomic release
// CHECK: else
// CHECK: scf.for
// CHECK: %[[LATER:.*]] = arith.minsi
// CHECK: llvm.getelementptr %{{.*}}[%[[LATER]]]
// CHECK: llvm.intr.prefetch{{.*}}rw = 1
// CHECK: llvm.atomicrmw fadd
// CHECK: scf.for
// CHECK-NOT: llvm.intr.prefetch
// CHECK: llvm.atomicrmw fadd
// CHECK: llvm.return
tt.func public @scatter(%x: !tt.ptr<f32>, %places: !tt.ptr<i32>, %out: !tt.ptr<f32>) {
  %true = arith.constant dense<true> : tensor<1024xi1>
  %i = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %ps = tt.splat %places : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>>
  %pp = tt.addptr %ps, %i : tensor<1024x!tt.ptr<i32>>, tensor<1024xi32>
  %at = tt.load %pp : tensor<1024x!tt.ptr<i32>>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %at : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %a = tt.atomic_rmw fadd, relaxed, gpu, %op, %v, %true : (tensor<1024x!tt.ptr<f32>>, tensor<1024xf32>, tensor<1024xi1>) -> tensor<1024xf32>
  %oi = tt.addptr %os, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %b = tt.atomic_rmw fadd, relaxed, gpu, %oi, %v, %true : (tensor<1024x!tt.ptr<f32>>, tensor<1024xf32>, tensor<1024xi1>) -> tensor<1024xf32>
  tt.return
}
