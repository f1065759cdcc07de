// RUN: tilewright compile %s --kernel blocked --emit loops --target cpu:avx512 | FileCheck %s
// RUN: tilewright compile %s --kernel not_blocked --emit loops --target cpu:avx512 | FileCheck %s --check-prefix=ALONE

// Eight iterations of 32 along K are multiplied together. Each packs its rows of B at their offset among 256, and records the address of A.
// The micro-kernel is emitted once, in a loop: over a pending block that this iteration does not extend, and over the one that it completes.
// CHECK-LABEL: llvm.func internal @blocked.program
// CHECK-SAME: %[[SCRATCH:[a-z0-9]+]]: !llvm.ptr) {
// CHECK: scf.for %[[ITERATION:.*]] = %{{.*}} to
// CHECK: %[[WITHIN:.*]] = arith.andi %[[FIRST:.*]], %c255_i64
// CHECK: %[[FULL:.*]] = arith.cmpi eq, %[[WITHIN]], %c224_i64
// CHECK: %[[LAST:.*]] = arith.cmpi ule
// CHECK: %[[FLUSHED:.*]] = arith.ori %[[FULL]], %[[LAST]]
// CHECK: %[[A:.*]] = llvm.inttoptr
// CHECK: scf.if
// CHECK: llvm.getelementptr %{{.*}}[%[[WITHIN]]] {{.*}}!llvm.array<128 x i8>
// CHECK: llvm.store {{.*}}vector<16xf32>
// CHECK: %[[STATE:.*]] = llvm.getelementptr %[[SCRATCH]][-
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c32
// CHECK: llvm.ptrtoint %[[A]]
// CHECK: %[[BASE:.*]] = llvm.load %[[STATE]]
// CHECK: llvm.store %[[END]]
// CHECK: %[[TO:.*]] = arith.select %[[FLUSHED]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[TO]]
// CHECK: llvm.intr.fma
// CHECK: llvm.return
tt.func public @blocked(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %stride: i64, %steps: i32) {
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %depth = arith.constant 32 : i32
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %p = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %li = arith.extsi %i : tensor<64xi32> to tensor<64xi64>
  %lp = arith.extsi %p : tensor<32xi32> to tensor<32xi64>
  %rows = tt.expand_dims %li {axis = 1 : i32} : tensor<64xi64> -> tensor<64x1xi64>
  %across = tt.expand_dims %lp {axis = 0 : i32} : tensor<32xi64> -> tensor<1x32xi64>
  %down = tt.expand_dims %lp {axis = 1 : i32} : tensor<32xi64> -> tensor<32x1xi64>
  %columns = tt.expand_dims %li {axis = 0 : i32} : tensor<64xi64> -> tensor<1x64xi64>
  %stride_rows = tt.splat %stride : i64 -> tensor<64x1xi64>
  %far = arith.muli %rows, %stride_rows : tensor<64x1xi64>
  %far_a = tt.broadcast %far : tensor<64x1xi64> -> tensor<64x32xi64>
  %near_a = tt.broadcast %across : tensor<1x32xi64> -> tensor<64x32xi64>
  %at_a = arith.addi %far_a, %near_a : tensor<64x32xi64>
  %stride_down = tt.splat %stride : i64 -> tensor<32x1xi64>
  %low = arith.muli %down, %stride_down : tensor<32x1xi64>
  %far_b = tt.broadcast %low : tensor<32x1xi64> -> tensor<32x64xi64>
  %near_b = tt.broadcast %columns : tensor<1x64xi64> -> tensor<32x64xi64>
  %at_b = arith.addi %far_b, %near_b : tensor<32x64xi64>
  %sum = scf.for %k = %zero to %steps step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %first = arith.muli %k, %depth : i32
    %a0 = tt.addptr %a, %first : !tt.ptr<f32>, i32
    %as = tt.splat %a0 : !tt.ptr<f32> -> tensor<64x32x!tt.ptr<f32>>
    %ap = tt.addptr %as, %at_a : tensor<64x32x!tt.ptr<f32>>, tensor<64x32xi64>
    %x = tt.load %ap : tensor<64x32x!tt.ptr<f32>>
    %b0 = tt.addptr %b, %first : !tt.ptr<f32>, i32
    %bs = tt.splat %b0 : !tt.ptr<f32> -> tensor<32x64x!tt.ptr<f32>>
    %bp = tt.addptr %bs, %at_b : tensor<32x64x!tt.ptr<f32>>, tensor<32x64xi64>
    %y = tt.load %bp : tensor<32x64x!tt.ptr<f32>>
    %d = tt.dot %x, %y, %acc : tensor<64x32xf32> * tensor<32x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %far_c = tt.broadcast %far : tensor<64x1xi64> -> tensor<64x64xi64>
  %near_c = tt.broadcast %columns : tensor<1x64xi64> -> tensor<64x64xi64>
  %at_c = arith.addi %far_c, %near_c : tensor<64x64xi64>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %at_c : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi64>
  %twice = arith.addf %sum, %sum : tensor<64x64xf32>
  tt.store %cp, %twice : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// If another operation in the loop reads the sum, each dot is multiplied in its own iteration.
// ALONE-LABEL: llvm.func internal @not_blocked.program
// ALONE-NOT: arith.andi %{{.*}}, %c255_i64
// ALONE: llvm.return
tt.func public @not_blocked(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %stride: i64, %steps: i32) {
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %halves = arith.constant dense<0.5> : tensor<64x64xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %depth = arith.constant 32 : i32
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %p = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %li = arith.extsi %i : tensor<64xi32> to tensor<64xi64>
  %lp = arith.extsi %p : tensor<32xi32> to tensor<32xi64>
  %rows = tt.expand_dims %li {axis = 1 : i32} : tensor<64xi64> -> tensor<64x1xi64>
  %across = tt.expand_dims %lp {axis = 0 : i32} : tensor<32xi64> -> tensor<1x32xi64>
  %down = tt.expand_dims %lp {axis = 1 : i32} : tensor<32xi64> -> tensor<32x1xi64>
  %columns = tt.expand_dims %li {axis = 0 : i32} : tensor<64xi64> -> tensor<1x64xi64>
  %stride_rows = tt.splat %stride : i64 -> tensor<64x1xi64>
  %far = arith.muli %rows, %stride_rows : tensor<64x1xi64>
  %far_a = tt.broadcast %far : tensor<64x1xi64> -> tensor<64x32xi64>
  %near_a = tt.broadcast %across : tensor<1x32xi64> -> tensor<64x32xi64>
  %at_a = arith.addi %far_a, %near_a : tensor<64x32xi64>
  %stride_down = tt.splat %stride : i64 -> tensor<32x1xi64>
  %low = arith.muli %down, %stride_down : tensor<32x1xi64>
  %far_b = tt.broadcast %low : tensor<32x1xi64> -> tensor<32x64xi64>
  %near_b = tt.broadcast %columns : tensor<1x64xi64> -> tensor<32x64xi64>
  %at_b = arith.addi %far_b, %near_b : tensor<32x64xi64>
  %sum = scf.for %k = %zero to %steps step %one iter_args(%acc = %none) -> (tensor<64x64xf32>) : i32 {
    %first = arith.muli %k, %depth : i32
    %a0 = tt.addptr %a, %first : !tt.ptr<f32>, i32
    %as = tt.splat %a0 : !tt.ptr<f32> -> tensor<64x32x!tt.ptr<f32>>
    %ap = tt.addptr %as, %at_a : tensor<64x32x!tt.ptr<f32>>, tensor<64x32xi64>
    %x = tt.load %ap : tensor<64x32x!tt.ptr<f32>>
    %b0 = tt.addptr %b, %first : !tt.ptr<f32>, i32
    %bs = tt.splat %b0 : !tt.ptr<f32> -> tensor<32x64x!tt.ptr<f32>>
    %bp = tt.addptr %bs, %at_b : tensor<32x64x!tt.ptr<f32>>, tensor<32x64xi64>
    %y = tt.load %bp : tensor<32x64x!tt.ptr<f32>>
    %d = tt.dot %x, %y, %acc : tensor<64x32xf32> * tensor<32x64xf32> -> tensor<64x64xf32>
    %half = arith.mulf %d, %halves : tensor<64x64xf32>
    scf.yield %half : tensor<64x64xf32>
  }
  %far_c = tt.broadcast %far : tensor<64x1xi64> -> tensor<64x64xi64>
  %near_c = tt.broadcast %columns : tensor<1x64xi64> -> tensor<64x64xi64>
  %at_c = arith.addi %far_c, %near_c : tensor<64x64xi64>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %at_c : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi64>
  %twice = arith.addf %sum, %sum : tensor<64x64xf32>
  tt.store %cp, %twice : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
