// RUN: tilewright-opt %s --fold-comparisons -split-input-file | FileCheck %s

// == blocks of 8 divide 128 rows: their mask is true. 100 rows end within a block.
// CHECK-LABEL: @blocks
// CHECK: scf.for
// CHECK-DAG: %[[TRUE:.*]] = arith.constant dense<true> : tensor<8xi1>
// CHECK-DAG: %[[MASK:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<8xi32>
// CHECK: tt.load %{{.*}}, %[[TRUE]]
// CHECK: tt.load %{{.*}}, %[[MASK]]
tt.func @blocks(%p: tensor<8x!tt.ptr<f32>>, %out: tensor<8x!tt.ptr<f32>>) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %c128 = arith.constant 128 : i32
  %rows = arith.constant dense<128> : tensor<8xi32>
  %fewer = arith.constant dense<100> : tensor<8xi32>
  %range = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  scf.for %i = %c0 to %c128 step %c8 : i32 {
    %s = tt.splat %i : i32 -> tensor<8xi32>
    %row = arith.addi %s, %range : tensor<8xi32>
    %all = arith.cmpi slt, %row, %rows : tensor<8xi32>
    %some = arith.cmpi slt, %row, %fewer : tensor<8xi32>
    %x = tt.load %p, %all : tensor<8x!tt.ptr<f32>>
    %y = tt.load %p, %some : tensor<8x!tt.ptr<f32>>
    %sum = arith.addf %x, %y : tensor<8xf32>
    tt.store %out, %sum : tensor<8x!tt.ptr<f32>>
  }
  tt.return
}

// -----

// == nothing is assumed about arguments: %i + 8 may wrap around, and %n may be 0. A loop's last block is within its bound only if the step
// divides it.
// CHECK-LABEL: @arguments
// CHECK-NOT: dense<true>
// CHECK: tt.return
tt.func @arguments(%p: tensor<8x!tt.ptr<f32>>, %i: i32, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %range = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %eight = arith.constant dense<8> : tensor<8xi32>
  %s = tt.splat %i : i32 -> tensor<8xi32>
  %row = arith.addi %s, %range : tensor<8xi32>
  %last = arith.addi %s, %eight : tensor<8xi32>
  %wraps = arith.cmpi slt, %row, %last : tensor<8xi32>
  tt.store %p, %zero, %wraps : tensor<8x!tt.ptr<f32>>
  %bound = tt.splat %n : i32 -> tensor<8xi32>
  %within = arith.cmpi slt, %range, %bound : tensor<8xi32>
  tt.store %p, %zero, %within : tensor<8x!tt.ptr<f32>>
  scf.for %j = %c0 to %n step %c8 : i32 {
    %t = tt.splat %j : i32 -> tensor<8xi32>
    %each = arith.addi %t, %range : tensor<8xi32>
    %inside = arith.cmpi slt, %each, %bound : tensor<8xi32>
    tt.store %p, %zero, %inside : tensor<8x!tt.ptr<f32>>
  }
  tt.return
}

// -----

// == the difference of these numbers wraps around in 64 bits. What depends on the launch is not compared: a quotient may be one by 0.
// CHECK-LABEL: @limits
// CHECK-NOT: dense<true>
// CHECK: tt.return
tt.func @limits(%p: tensor<8x!tt.ptr<f32>>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %least = arith.constant dense<-9223372036854775808> : tensor<8xi64>
  %low = arith.constant dense<-5000000000000000000> : tensor<8xi64>
  %high = arith.constant dense<5000000000000000000> : tensor<8xi64>
  %last = arith.constant dense<65542> : tensor<8xi32>
  %range = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %wide = arith.extsi %range : tensor<8xi32> to tensor<8xi64>
  %a = arith.cmpi slt, %wide, %least : tensor<8xi64>
  tt.store %p, %zero, %a : tensor<8x!tt.ptr<f32>>
  %far = arith.addi %wide, %high : tensor<8xi64>
  %b = arith.cmpi slt, %far, %low : tensor<8xi64>
  tt.store %p, %zero, %b : tensor<8x!tt.ptr<f32>>
  %y = tt.get_program_id y : i32
  %s = tt.splat %y : i32 -> tensor<8xi32>
  %row = arith.addi %s, %range : tensor<8xi32>
  %c = arith.cmpi slt, %row, %last : tensor<8xi32>
  tt.store %p, %zero, %c : tensor<8x!tt.ptr<f32>>
  tt.return
}

// -----

// == unsigned comparisons, and those with equality
// CHECK-LABEL: @predicates
// CHECK-COUNT-3: arith.constant dense<true> : tensor<8xi1>
// CHECK: arith.cmpi ult
// CHECK: arith.cmpi sgt
tt.func @predicates(%p: tensor<8x!tt.ptr<f32>>) {
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %seven = arith.constant dense<7> : tensor<8xi32>
  %eight = arith.constant dense<8> : tensor<8xi32>
  %none = arith.constant dense<0> : tensor<8xi32>
  %range = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
  %a = arith.cmpi ule, %range, %seven : tensor<8xi32>
  %b = arith.cmpi ugt, %eight, %range : tensor<8xi32>
  %c = arith.cmpi sge, %range, %none : tensor<8xi32>
  %d = arith.cmpi ult, %range, %seven : tensor<8xi32>
  %e = arith.cmpi sgt, %range, %none : tensor<8xi32>
  tt.store %p, %zero, %a : tensor<8x!tt.ptr<f32>>
  tt.store %p, %zero, %b : tensor<8x!tt.ptr<f32>>
  tt.store %p, %zero, %c : tensor<8x!tt.ptr<f32>>
  tt.store %p, %zero, %d : tensor<8x!tt.ptr<f32>>
  tt.store %p, %zero, %e : tensor<8x!tt.ptr<f32>>
  tt.return
}
