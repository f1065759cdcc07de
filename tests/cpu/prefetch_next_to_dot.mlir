// RUN: tilewright compile %s --emit loops --target cpu:avx512 | FileCheck %s
// RUN: tilewright compile %s --emit loops --target cpu:avx2 | FileCheck %s --check-prefix=FEW
// RUN: tilewright compile %s --emit asm --target cpu:avx512 | FileCheck %s --check-prefix=ASM

// While a panel of B is multiplied, every four steps along K prefetch a line of the following panel, and one of the rows of A that the next
// iteration (or the next program) reads. A is not copied.
// CHECK-LABEL: llvm.func internal @matmul.program
// CHECK: %[[AHEAD:.*]] = arith.select
// CHECK: %[[A:.*]] = llvm.inttoptr
// CHECK: scf.for
// CHECK: arith.addi %[[AHEAD]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CHECK-NOT: prefetch
// CHECK: llvm.intr.fma
// ASM: prefetcht1
// With 16 registers, 32 steps share one address computation: their own loop has no prefetch.
// FEW-LABEL: llvm.func internal @matmul.program
// FEW: "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// FEW: scf.for {{.*}} iter_args
// FEW-NOT: prefetch
// FEW: llvm.intr.fma
// FEW: scf.yield
// FEW: scf.yield
// FEW: llvm.store
tt.func public @matmul(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %c: !tt.ptr<f32>, %stride: i64, %steps: i32) {
  %none = arith.constant dense<0.0> : tensor<128x128xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %width = arith.constant dense<128> : tensor<128x128xi64>
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %long = arith.extsi %i : tensor<128xi32> to tensor<128xi64>
  %rows = tt.expand_dims %long {axis = 1 : i32} : tensor<128xi64> -> tensor<128x1xi64>
  %columns = tt.expand_dims %long {axis = 0 : i32} : tensor<128xi64> -> tensor<1x128xi64>
  %strides = tt.splat %stride : i64 -> tensor<128x1xi64>
  %far = arith.muli %rows, %strides : tensor<128x1xi64>
  %down = tt.broadcast %far : tensor<128x1xi64> -> tensor<128x128xi64>
  %across = tt.broadcast %columns : tensor<1x128xi64> -> tensor<128x128xi64>
  %places = arith.addi %down, %across : tensor<128x128xi64>
  %as = tt.splat %a : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
  %ap = tt.addptr %as, %places : tensor<128x128x!tt.ptr<f32>>, tensor<128x128xi64>
  %bs = tt.splat %b : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
  %bp = tt.addptr %bs, %places : tensor<128x128x!tt.ptr<f32>>, tensor<128x128xi64>
  %sum, %an, %bn = scf.for %k = %zero to %steps step %one iter_args(%acc = %none, %x = %ap, %y = %bp)
      -> (tensor<128x128xf32>, tensor<128x128x!tt.ptr<f32>>, tensor<128x128x!tt.ptr<f32>>) : i32 {
    %left = tt.load %x : tensor<128x128x!tt.ptr<f32>>
    %right = tt.load %y : tensor<128x128x!tt.ptr<f32>>
    %d = tt.dot %left, %right, %acc : tensor<128x128xf32> * tensor<128x128xf32> -> tensor<128x128xf32>
    %xn = tt.addptr %x, %width : tensor<128x128x!tt.ptr<f32>>, tensor<128x128xi64>
    %yn = tt.addptr %y, %width : tensor<128x128x!tt.ptr<f32>>, tensor<128x128xi64>
    scf.yield %d, %xn, %yn : tensor<128x128xf32>, tensor<128x128x!tt.ptr<f32>>, tensor<128x128x!tt.ptr<f32>>
  }
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<128x128x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %places : tensor<128x128x!tt.ptr<f32>>, tensor<128x128xi64>
  %twice = arith.addf %sum, %sum : tensor<128x128xf32>
  tt.store %cp, %twice : tensor<128x128x!tt.ptr<f32>>
  tt.return
}
