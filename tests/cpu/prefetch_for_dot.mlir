// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s

// Memory is idle during a dot, so the code that packs one iteration's operands prefetches those of the next. The loop carries the offset of A;
// that of B depends on the induction variable. (A is doubled, because otherwise it would be read in place.)
// CHECK-LABEL: llvm.func internal @matmul.program
// CHECK: scf.for {{.*}} iter_args(%[[OFFSET:.*]] = %{{.*}}) -> (i32)
// CHECK: %[[NEXT:.*]] = arith.addi %[[OFFSET]]
// CHECK: %[[MORE:.*]] = arith.cmpi slt
// CHECK: %[[DISTANCE:.*]] = arith.select %[[MORE]]
// CHECK: scf.for
// CHECK: arith.addi %{{.*}}, %[[DISTANCE]]
// CHECK: llvm.intr.prefetch
// CHECK: arith.select
// CHECK: llvm.intr.prefetch
// CHECK: llvm.intr.fma
tt.func public @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %n: i32, %stride: i32) {
  %zero = arith.constant 0 : i32
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
    %b0 = tt.addptr %b, %far_b : !tt.ptr<f32>, i32
    %bs = tt.splat %b0 : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
    %bp = tt.addptr %bs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %y = tt.load %bp : tensor<16x16x!tt.ptr<f32>>
    %twice = arith.addf %x, %x : tensor<16x16xf32>
    %d = tt.dot %twice, %y, %acc : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %next = arith.addi %offset, %step : i32
    scf.yield %d, %next : tensor<16x16xf32>, i32
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %twice = arith.addf %sum, %sum : tensor<16x16xf32>
  tt.store %cp, %twice : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
