// RUN: tilewright-opt %s --pad-tiles -split-input-file -verify-diagnostics | FileCheck %s

// ---- accesses are masked, and the tiles grow
// CHECK-LABEL: tt.func public @copy
// CHECK-NOT: tt.any_size
tt.func public @copy(%p: !tt.ptr<f32>) attributes {tt.any_size} {
  // CHECK: %[[I:.*]] = tt.make_range {end = 128 : i32, start = 0 : i32, tt.valid_extent = array<i64: 96>} : tensor<128xi32>
  %i = tt.make_range {end = 96 : i32, start = 0 : i32} : tensor<96xi32>
  %s = tt.splat %p : !tt.ptr<f32> -> tensor<96x!tt.ptr<f32>>
  %q = tt.addptr %s, %i : tensor<96x!tt.ptr<f32>>, tensor<96xi32>
  // CHECK: %[[N:.*]] = arith.constant dense<96> : tensor<128xi32>
  // CHECK: %[[REAL:.*]] = arith.cmpi slt, %{{.*}}, %[[N]]
  // CHECK: tt.load %{{.*}}, %[[REAL]], %{{.*}} : tensor<128x!tt.ptr<f32>>
  %x = tt.load %q : tensor<96x!tt.ptr<f32>>
  // CHECK: tt.store %{{.*}}, %{{.*}}, %{{.*}} : tensor<128x!tt.ptr<f32>>
  tt.store %q, %x : tensor<96x!tt.ptr<f32>>
  tt.return
}

// -----

// ---- a sum's padding is -0.0, which changes no sum
// CHECK-LABEL: tt.func public @sum
tt.func public @sum(%x: tensor<4x12xf32>) -> tensor<4xf32> attributes {tt.any_size} {
  // CHECK: %[[ZERO:.*]] = arith.constant dense<-0.000000e+00> : tensor<4x16xf32>
  // CHECK: %[[FILLED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[ZERO]]
  // CHECK: "tt.reduce"(%[[FILLED]])
  %s = "tt.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<4x12xf32>) -> tensor<4xf32>
  tt.return %s : tensor<4xf32>
}

// -----

// ---- any other combination carries a flag that tells which elements are real
// CHECK-LABEL: tt.func public @other
tt.func public @other(%x: tensor<12xf32>) -> f32 attributes {tt.any_size} {
  // CHECK: "tt.reduce"(%{{.*}}, %{{.*}}) <{axis = 0 : i32}> ({
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[MA:.*]]: i1, %[[B:.*]]: f32, %[[MB:.*]]: i1):
  // CHECK: %[[C:.*]] = arith.subf %[[A]], %[[B]]
  // CHECK: %[[BOTH:.*]] = arith.andi %[[MA]], %[[MB]]
  // CHECK: %[[ONE:.*]] = arith.select %[[MA]], %[[A]], %[[B]]
  // CHECK: arith.select %[[BOTH]], %[[C]], %[[ONE]]
  %s = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.subf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<12xf32>) -> f32
  tt.return %s : f32
}

// -----

// ---- a dot records its valid rows and columns
// CHECK-LABEL: tt.func public @matmul
tt.func public @matmul(%a: tensor<96x64xf16>, %b: tensor<64x152xf16>, %c: tensor<96x152xf32>) -> tensor<96x152xf32> attributes {tt.any_size} {
  // CHECK: tt.dot {{.*}} {tt.valid_extent = array<i64: 96, 152>} : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
  %0 = tt.dot %a, %b, %c : tensor<96x64xf16> * tensor<64x152xf16> -> tensor<96x152xf32>
  tt.return %0 : tensor<96x152xf32>
}

// -----

// ---- rows that stay together need no change, others are gathered
// CHECK-LABEL: tt.func public @shapes
tt.func public @shapes(%x: tensor<96xf32>) -> (tensor<3x32xf32>, tensor<32x3xf32>) attributes {tt.any_size} {
  // CHECK: %[[ROWS:.*]] = tt.reshape %{{.*}} : tensor<128xf32> -> tensor<4x32xf32>
  // CHECK: %[[PICKED:.*]] = tt.gather
  // CHECK: %[[THREES:.*]] = tt.reshape %[[PICKED]] : tensor<128xf32> -> tensor<32x4xf32>
  // CHECK: tt.return %[[ROWS]], %[[THREES]]
  %a = tt.reshape %x : tensor<96xf32> -> tensor<3x32xf32>
  %b = tt.reshape %x : tensor<96xf32> -> tensor<32x3xf32>
  tt.return %a, %b : tensor<3x32xf32>, tensor<32x3xf32>
}

// -----

// ---- kernels without padded tiles are unchanged
// CHECK-LABEL: tt.func public @plain
tt.func public @plain(%p: tensor<64x!tt.ptr<f32>>) {
  // CHECK-NEXT: tt.load %{{[^,]*}} : tensor<64x!tt.ptr<f32>>
  %x = tt.load %p : tensor<64x!tt.ptr<f32>>
  tt.return
}

// -----

// ---- operations that have side effects and no mask are refused
tt.func public @swap(%p: tensor<96x!tt.ptr<i32>>, %v: tensor<96xi32>) attributes {tt.any_size} {
  // expected-error @+1 {{'tt.atomic_cas' does not support a tile of tensor<96x!tt.ptr<i32>>, which has a size that is not a power of 2}}
  %0 = tt.atomic_cas relaxed, gpu, %p, %v, %v : (tensor<96x!tt.ptr<i32>>, tensor<96xi32>, tensor<96xi32>) -> tensor<96xi32>
  tt.return
}

// -----

tt.func public @descriptor(%d: !tt.tensordesc<tensor<96xf32>>, %i: i32, %v: tensor<96xf32>) attributes {tt.any_size} {
  // expected-error @+1 {{'tt.descriptor_store' does not support a tile of tensor<96xf32>, which has a size that is not a power of 2}}
  tt.descriptor_store %d[%i], %v : !tt.tensordesc<tensor<96xf32>>, tensor<96xf32>
  tt.return
}

// -----

tt.func public @assembly(%v: tensor<96xi32>) attributes {tt.any_size} {
  // expected-error @+1 {{'tt.elementwise_inline_asm' does not support a tile of tensor<96xi32>, which has a size that is not a power of 2}}
  %0 = tt.elementwise_inline_asm "nop" {constraints = "=r,r", packed_element = 1 : i32, pure = false} %v : tensor<96xi32> -> tensor<96xi32>
  tt.return
}

// -----

// ---- a loop may carry a tile, and store it in its body
// CHECK-LABEL: tt.func public @loop
tt.func public @loop(%p: tensor<96x!tt.ptr<i32>>, %v: tensor<96xi32>, %n: i32) attributes {tt.any_size} {
  // CHECK: scf.for {{.*}} -> (tensor<128xi32>)
  %r = scf.for %i = %n to %n step %n iter_args(%a = %v) -> (tensor<96xi32>) : i32 {
    // CHECK: tt.store %{{.*}}, %{{.*}}, %{{.*}} : tensor<128x!tt.ptr<i32>>
    tt.store %p, %a : tensor<96x!tt.ptr<i32>>
    %b = arith.addi %a, %a : tensor<96xi32>
    scf.yield %b : tensor<96xi32>
  }
  tt.return
}
