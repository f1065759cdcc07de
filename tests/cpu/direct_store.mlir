// RUN: tilewright compile %s --kernel matmul --emit loops --target cpu:avx512 | FileCheck %s
// RUN: tilewright compile %s --kernel doubled --emit loops --target cpu:avx512 | FileCheck %s --check-prefix=DOUBLED

// In the last iteration, register blocks are stored to the results' destination, if it does not overlap A. Then no store is left after the loop.
// CHECK-LABEL: llvm.func internal @matmul.program
// CHECK: %[[DONE:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %false) -> (i1)
// CHECK: %[[DUE:.*]] = arith.ori
// CHECK: %[[DISJOINT:.*]] = arith.ori
// CHECK: %[[LAST:.*]] = arith.cmpi ule
// CHECK: %[[NOW:.*]] = arith.andi %[[DISJOINT]], %[[LAST]]
// CHECK: arith.select %[[NOW]]
// CHECK: arith.select %[[NOW]]
// CHECK: llvm.intr.fma
// CHECK: llvm.store
// CHECK: scf.yield %[[NOW]]
// CHECK: %[[LEFT:.*]] = arith.xori %[[DONE]]
// CHECK: scf.if %[[LEFT]]
// CHECK: llvm.store
tt.func public @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %stride: i64, %steps: i32) {
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %long = arith.extsi %i : tensor<64xi32> to tensor<64xi64>
  %rows = tt.expand_dims %long {axis = 1 : i32} : tensor<64xi64> -> tensor<64x1xi64>
  %columns = tt.expand_dims %long {axis = 0 : i32} : tensor<64xi64> -> tensor<1x64xi64>
  %strides = tt.splat %stride : i64 -> tensor<64x1xi64>
  %far = arith.muli %rows, %strides : tensor<64x1xi64>
  %down = tt.broadcast %far : tensor<64x1xi64> -> tensor<64x64xi64>
  %across = tt.broadcast %columns : tensor<1x64xi64> -> tensor<64x64xi64>
  %places = arith.addi %down, %across : tensor<64x64xi64>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %ap = tt.addptr %as, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi64>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %bp = tt.addptr %bs, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi64>
  %sum = scf.for %k = %zero to %steps step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %x = tt.load %ap : tensor<64x64x!tt.ptr<f32>>
    %y = tt.load %bp : tensor<64x64x!tt.ptr<f32>>
    %d = tt.dot %x, %y, %acc : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi64>
  tt.store %cp, %sum : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// The stored value is not the dot's result itself, so the results stay in scratch.
// DOUBLED-LABEL: llvm.func internal @doubled.program
// DOUBLED-NOT: arith.cmpi ule
tt.func public @doubled(%a: !tt.ptr<f32>, %c: !tt.ptr<f32>) {
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %width = arith.constant dense<64> : tensor<64x1xi32>
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %far = arith.muli %rows, %width : tensor<64x1xi32>
  %down = tt.broadcast %far : tensor<64x1xi32> -> tensor<64x64xi32>
  %across = tt.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %places = arith.addi %down, %across : tensor<64x64xi32>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %ap = tt.addptr %as, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %x = tt.load %ap : tensor<64x64x!tt.ptr<f32>>
  %d = tt.dot %x, %x, %none : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
  %twice = arith.addf %d, %d : tensor<64x64xf32>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %cp, %twice : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
