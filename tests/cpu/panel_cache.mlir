// RUN: split-file %s %t
// RUN: tilewright compile %t/cached.mlir --emit loops --target cpu:avx2 | FileCheck %t/cached.mlir
// RUN: tilewright compile %t/stored.mlir --emit loops --target cpu:avx2 | FileCheck %t/stored.mlir

//--- cached.mlir
// An iteration packs panels of B unless an earlier program has left panels that were packed with the same scalars.
// CHECK-LABEL: llvm.func internal @cached.program
// CHECK-SAME: %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr) {
// CHECK: %[[NEAR:.*]] = llvm.getelementptr %arg7[
// CHECK: llvm.getelementptr %[[SCRATCH]][-
// CHECK-NEXT: arith.constant
// CHECK-NEXT: %[[CACHED:.*]] = llvm.getelementptr %[[SCRATCH]][-
// CHECK: %[[KEY:.*]] = llvm.ptrtoint %[[NEAR]]
// CHECK: llvm.load %[[CACHED]]
// CHECK: %[[HEADER:.*]] = llvm.getelementptr {{.*}} !llvm.array<64 x i8>
// CHECK: %[[WORD:.*]] = llvm.getelementptr %[[HEADER]][8]
// CHECK: %[[LEFT:.*]] = llvm.load %[[WORD]]
// CHECK: arith.cmpi eq, %[[LEFT]], %[[KEY]]
// CHECK: scf.if
// CHECK: llvm.intr.prefetch
// CHECK: llvm.store %[[KEY]]
// CHECK: llvm.intr.fma
// A launch begins with an empty cache.
// CHECK-LABEL: llvm.func @cached.entry
// CHECK: %[[BEGUN:.*]] = llvm.load %arg4
// CHECK: %[[IS_NEW:.*]] = arith.cmpi eq, %[[BEGUN]]
// CHECK: scf.if %[[IS_NEW]]
// CHECK: llvm.store
tt.func public @cached(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %n: i32, %stride: i32) {
  %zero = arith.constant 0 : i32
  %pid = tt.get_program_id x : i32
  %side = arith.constant 16 : i32
  %first = arith.muli %pid, %side : i32
  %step = arith.constant 16 : i32
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %strides = tt.splat %stride : i32 -> tensor<16x1xi32>
  %far = arith.muli %rows, %strides : tensor<16x1xi32>
  %down = tt.broadcast %far : tensor<16x1xi32> -> tensor<16x16xi32>
  %across = tt.broadcast %columns : tensor<1x16xi32> -> tensor<16x16xi32>
  %places = arith.addi %down, %across : tensor<16x16xi32>
  %sum, %last = scf.for %k = %zero to %n step %step iter_args(%acc = %none, %offset = %zero) -> (tensor<16x16xf32>, i32) : i32 {
    %a0 = tt.addptr %a, %offset : !tt.ptr<f32>, i32
    %as = tt.splat %a0 : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %ap = tt.addptr %as, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %x = tt.load %ap : tensor<16x16x!tt.ptr<f32>>
    %far_b = arith.muli %k, %stride : i32
    %near_b = arith.addi %far_b, %first : i32
    %b0 = tt.addptr %b, %near_b : !tt.ptr<f32>, i32
    %bs = tt.splat %b0 : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %bp = tt.addptr %bs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %y = tt.load %bp : tensor<16x16x!tt.ptr<f32>>
    %d = tt.dot %x, %y, %acc : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %next = arith.addi %offset, %step : i32
    scf.yield %d, %next : tensor<16x16xf32>, i32
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  tt.store %cp, %sum : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

//--- stored.mlir
// A program with a store before the loop may have changed B, so it does not use the cache.
// CHECK-LABEL: llvm.func internal @stored_before.program
// CHECK-SAME: %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr) {
// CHECK-NOT: arith.cmpi slt, %{{.*}}, %c2_i64
// CHECK: llvm.intr.fma
// CHECK-LABEL: llvm.func @stored_before.entry
// CHECK-NOT: scf.if
// CHECK: llvm.return
tt.func public @stored_before(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %n: i32, %stride: i32) {
  %zero = arith.constant 0 : i32
  %pid = tt.get_program_id x : i32
  %side = arith.constant 16 : i32
  %first = arith.muli %pid, %side : i32
  %one = arith.constant 1.0 : f32
  tt.store %b, %one : !tt.ptr<f32>
  %step = arith.constant 16 : i32
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %strides = tt.splat %stride : i32 -> tensor<16x1xi32>
  %far = arith.muli %rows, %strides : tensor<16x1xi32>
  %down = tt.broadcast %far : tensor<16x1xi32> -> tensor<16x16xi32>
  %across = tt.broadcast %columns : tensor<1x16xi32> -> tensor<16x16xi32>
  %places = arith.addi %down, %across : tensor<16x16xi32>
  %sum, %last = scf.for %k = %zero to %n step %step iter_args(%acc = %none, %offset = %zero) -> (tensor<16x16xf32>, i32) : i32 {
    %a0 = tt.addptr %a, %offset : !tt.ptr<f32>, i32
    %as = tt.splat %a0 : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %ap = tt.addptr %as, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %x = tt.load %ap : tensor<16x16x!tt.ptr<f32>>
    %far_b = arith.muli %k, %stride : i32
    %near_b = arith.addi %far_b, %first : i32
    %b0 = tt.addptr %b, %near_b : !tt.ptr<f32>, i32
    %bs = tt.splat %b0 : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %bp = tt.addptr %bs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %y = tt.load %bp : tensor<16x16x!tt.ptr<f32>>
    %d = tt.dot %x, %y, %acc : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %next = arith.addi %offset, %step : i32
    scf.yield %d, %next : tensor<16x16xf32>, i32
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  tt.store %cp, %sum : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
